# SPDX-License-Identifier: Apache-2.0
"""Steps of MuJoCo Warp's humanoid, eagerly. It knows nothing of Braid."""
import os
import sys

try:
    import mujoco
    import mujoco_warp as mjw
    import numpy as np
    import warp as wp
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

STEPS = 6


def main(model="humanoid/humanoid.xml"):
    wp.config.quiet = True
    wp.config.enable_backward = False
    wp.init()
    if not wp.get_cuda_devices():
        print("skipped: there is no CUDA device")
        sys.exit(77)
    path = os.path.join(os.path.dirname(mjw.__file__), "test_data", model)
    host = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(host)
    mujoco.mj_forward(host, data)
    with wp.ScopedDevice("cuda:0"):
        on_device = mjw.put_model(host)
        on_device.opt.graph_conditional = False
        state = mjw.put_data(host, data, nworld=1, nconmax=64, njmax=192)
        for _ in range(STEPS):
            mjw.step(on_device, state)
            wp.synchronize_device()
            mujoco.mj_step(host, data)
        found = state.qpos.numpy()[0]
    print(f"{STEPS} steps; {np.abs(found - data.qpos).max():.2e} from MuJoCo")
    assert np.allclose(found, data.qpos, atol=0.1)  # MuJoCo computes in double precision, and by other solvers


if __name__ == "__main__":
    main(*sys.argv[1:])
