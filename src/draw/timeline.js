// SPDX-License-Identifier: Apache-2.0
// Draws any part of a timeline anew in a browser: zoom, move, search by name, choose a node.
(function () {
    "use strict";
    var svg = document.currentScript.closest("svg");
    var data = JSON.parse(svg.querySelector(".data").textContent);
    var view = { from: 0, to: Math.max(data.span, 1) };
    var chosen = -1, hits = null, hitAt = -1;
    var critical = new Set(data.critical), guesses = new Set(data.guesses), bottom = data.top + data.lanes.length * data.pitch;
    var laneOf = new Int32Array(data.names.length);
    data.lanes.forEach(function (nodes, lane) {
        nodes.forEach(function (node) { laneOf[node] = lane; });
    });

    function start(node) { return data.times[2 * node]; }
    function end(node) { return data.times[2 * node] + data.times[2 * node + 1]; }
    function x(time) { return data.left + (time - view.from) * data.wide / (view.to - view.from); }
    function y(lane) { return data.top + lane * data.pitch; }
    function clamp(at) { return Math.min(Math.max(at, data.left), data.left + data.wide); }
    function plain(text) {
        return text.replace(/[&<>"]/g, function (c) { return "&#" + c.charCodeAt(0) + ";"; });
    }
    function time(ns) {
        if (data.unit !== undefined)
            return +(ns / data.unit_ns).toPrecision(6) + (data.unit ? " " + data.unit : "");
        var units = ["ns", "us", "ms", "s"], i = 0;
        for (; Math.abs(ns) >= 999.95 && i < 3; i++)
            ns /= 1000;
        return (i ? ns.toFixed(Math.abs(ns) < 9.995 ? 2 : 1) : Math.round(ns)) + " " + units[i];
    }
    function span(from, to) { return time(from) + " to " + time(to) + " (" + time(to - from) + ")"; }
    function rect(name, left, top, width, height, title) {
        return '<rect class="' + name + '" x="' + left.toFixed(2) + '" y="' + top + '" width="' +
            Math.max(width, 0.75).toFixed(2) + '" height="' + height + '">' +
            (title ? "<title>" + plain(title) + "</title>" : "") + "</rect>";
    }

    function drawNode(node, out) {
        var left = clamp(x(start(node))), width = clamp(x(end(node))) - left, lane = laneOf[node];
        var bundled = data.bundled[node] !== undefined;
        var name = "node" + (bundled ? " bundled" : "") + (critical.has(node) ? " critical" : "") +
            (guesses.has(node) ? " guess" : "") + (data.kinds[node] ? " " + data.kinds[node] : "") + (hits && hits.has(node) ? " hit" : "") + (node === chosen ? " chosen" : "");
        out.push(rect(name, left, y(lane) + (bundled ? 3 : 0), width,
            data.height - (bundled ? 6 : 0), data.names[node] + ": " + span(start(node), end(node)) +
            (guesses.has(node) ? ", a guess" : ""))
            .replace("<rect", '<rect data-node="' + node + '"'));
        var room = Math.floor((width - 8) / 7), text = data.names[node];
        if (width >= 36 && data.height >= 20)
            out.push('<text class="name" x="' + (left + 4) + '" y="' + (y(lane) + data.height / 2 + 4) +
                '">' + plain(text.length > room ? text.slice(0, room) + "\u2026" : text) + "</text>");
    }

    // Nodes shorter than two pixels that touch become one block, as in the picture as written.
    function drawLane(lane, out) {
        var block = null, before = null, nodes = data.lanes[lane], low = 0, high = nodes.length;
        function flush() {
            if (block && block.num === 1)
                drawNode(block.node, out);
            else if (block)
                out.push(rect("block" + (block.hit ? " hit" : block.critical ? " critical" : ""),
                    clamp(x(block.from)), y(lane), clamp(x(block.to)) - clamp(x(block.from)),
                    data.height, block.num + " nodes: " + span(block.from, block.to)));
            block = null;
        }
        while (low < high) { // the first that ends in view
            var middle = (low + high) >> 1;
            if (end(nodes[middle]) < view.from) low = middle + 1; else high = middle;
        }
        before = low > 0 ? end(nodes[low - 1]) : 0;
        for (; low < nodes.length && start(nodes[low]) <= view.to; low++) {
            var node = nodes[low], from = start(node), to = end(node);
            if (from < 0)
                continue;
            if (clamp(x(from)) - clamp(x(before)) >= 3)
                out.push(rect("gap", clamp(x(before)), y(lane) + data.height / 2 - 1,
                    clamp(x(from)) - clamp(x(before)), 2, "idle: " + span(before, from)));
            before = to;
            var short = x(to) - x(from) < 2;
            if (block && !(short && x(from) - x(block.to) < 1 &&
                (critical.has(node) === block.critical || x(block.to) - x(block.from) < 0.75)))
                flush();
            if (!short) {
                drawNode(node, out);
                continue;
            }
            block = block || { num: 0, node: node, from: from, critical: false };
            block.num++;
            block.to = to;
            block.critical = block.critical || critical.has(node);
            block.hit = block.hit || hits && hits.has(node);
        }
        flush();
    }

    function drawBundles(out) {
        var ends = {};
        Object.keys(data.bundled).forEach(function (key) {
            var main = data.bundled[key], box = ends[main] || [start(main), end(main)];
            ends[main] = [Math.min(box[0], start(+key)), Math.max(box[1], end(+key))];
        });
        Object.keys(ends).forEach(function (main) {
            var left = clamp(x(ends[main][0])), right = clamp(x(ends[main][1]));
            if (right - left >= 4 && ends[main][0] < view.to && ends[main][1] > view.from)
                out.push(rect("bundle", left - 1.5, y(laneOf[main]) - 2, right - left + 3,
                    data.height + 4));
        });
    }

    // Islands are stretches of lanes; times of calls are within those of their kernel.
    function drawIslands(out) {
        var all = data.islands.length ? data.lanes : [];
        all.forEach(function (nodes, lane) {
            for (var i = 0, last; i < nodes.length; i = last + 1) {
                var island = data.islands[nodes[i]];
                last = i;
                while (island >= 0 && last + 1 < nodes.length && data.islands[nodes[last + 1]] === island)
                    last++;
                var from = start(nodes[i]), to = end(nodes[last]), left = clamp(x(from)), right = clamp(x(to));
                if (island >= 0 && from >= 0 && right - left >= 4 && from < view.to && to > view.from)
                    out.push(rect("island", left - 1.5, y(lane) - 3, right - left + 3, data.height + 6,
                        "island " + island + ": " + (last - i + 1) + " nodes in one kernel, " + span(from, to)));
            }
        });
    }

    function drawLaunch(out) {
        if (!data.launch)
            return;
        var left = clamp(x(data.launch[0])), right = clamp(x(data.launch[1]));
        out.push('<text class="lane" x="' + (data.left - 10) + '" y="100">host</text>');
        if (right > left)
            out.push(rect("launch", left, 95, right - left, 5, "the host launches the frame: " +
                time(data.launch[0]) + " to " + time(data.launch[1]) +
                "; its clock and the device's agree to within " + time(data.launch[2])));
    }

    function drawWaits(out) {
        var shown = [], all = [];
        for (var i = 0; i < data.waits.length; i += 2) {
            var from = data.waits[i], to = data.waits[i + 1];
            if (start(from) < 0 || start(to) < 0 || end(from) > view.to || start(to) < view.from)
                continue;
            var mine = from === chosen || to === chosen;
            (mine || critical.has(from) && critical.has(to) ? shown : all).push([from, to, mine]);
        }
        if (all.length + shown.length <= 800) {
            shown = all.concat(shown);
            all = [];
        } else if (shown.length > 250) {
            all = all.concat(shown);
            shown = all.filter(function (wait) { return wait[2]; });
        }
        shown.forEach(function (wait) {
            var a = laneOf[wait[0]], b = laneOf[wait[1]], down = b > a;
            out.push('<path class="wait' + (critical.has(wait[0]) && critical.has(wait[1]) ?
                " critical" : "") + (wait[2] ? " chosen" : "") + '" d="M' +
                clamp(x(end(wait[0]))).toFixed(2) + " " + (y(a) + (down ? data.height : 0)) + "L" +
                clamp(x(start(wait[1]))).toFixed(2) + " " + (y(b) + (down ? 0 : data.height)) + '"/>');
        });
        if (all.length)
            out.push('<text class="key" text-anchor="end" x="1580" y="' + (bottom + 24) + '">' +
                shown.length + " of " + data.waits.length / 2 + " waits shown: zoom in for more</text>");
    }

    function drawAxis(out) {
        var unit = data.unit_ns || 1, wanted = (view.to - view.from) / unit / 8;
        var step = Math.pow(10, Math.floor(Math.log10(Math.max(wanted, 1))));
        step *= (step * 5 <= wanted ? 5 : step * 2 <= wanted ? 2 : 1) * unit;
        for (var at = Math.ceil(view.from / step) * step; at <= view.to; at += step)
            out.push('<path class="tick" d="M' + x(at) + " 92V" + bottom +
                '"/><text class="time" x="' + x(at) + '" y="88">' + plain(time(at)) + "</text>");
    }

    function fill(name, draw) {
        var out = [];
        draw(out);
        svg.querySelector("." + name).innerHTML = out.join("");
    }
    function draw() {
        fill("axis", drawAxis);
        fill("rows", function (out) {
            data.lanes.forEach(function (nodes, lane) { drawLane(lane, out); });
            drawBundles(out);
            drawIslands(out);
            drawLaunch(out);
        });
        fill("waits", drawWaits);
    }

    function show(from, to) {
        var length = Math.min(Math.max(to - from, 10), Math.max(data.span, 10));
        from = Math.min(Math.max(from, 0), Math.max(data.span - length, 0));
        view = { from: from, to: from + length };
        draw();
    }
    function zoom(factor, at) {
        var length = (view.to - view.from) * factor, part = (at - view.from) / (view.to - view.from);
        show(at - length * part, at + length * (1 - part));
    }
    function middle() { return (view.from + view.to) / 2; }

    function tell(text) { svg.querySelector(".info").textContent = text; }
    function list(nodes) {
        return nodes.slice(0, 6).map(function (node) { return data.names[node]; }).join(", ") +
            (nodes.length > 6 ? " and " + (nodes.length - 6) + " more" : "");
    }
    function choose(node) {
        chosen = node;
        var before = [], after = [];
        for (var i = 0; i < data.waits.length; i += 2) {
            if (data.waits[i + 1] === node) before.push(data.waits[i]);
            if (data.waits[i] === node) after.push(data.waits[i + 1]);
        }
        tell(node < 0 ? "" : data.names[node] + ": lane " + laneOf[node] + ", " +
            span(start(node), end(node)) + (critical.has(node) ? "; on the critical path" : "") +
            (data.bundled[node] === undefined ? "" : "; in the bundle of " +
                data.names[data.bundled[node]]) +
            (data.islands[node] >= 0 ? "; in island " + data.islands[node] : "") +
            (before.length ? "; waits for " + list(before) : "") +
            (after.length ? "; waited for by " + list(after) : ""));
        draw();
    }

    function search(text) {
        hits = text ? new Set() : null;
        hitAt = -1;
        text = text.toLowerCase();
        data.names.forEach(function (name, node) {
            if (hits && name.toLowerCase().indexOf(text) >= 0)
                hits.add(node);
        });
        tell(hits ? hits.size + " of " + data.names.length +
            " nodes have this in their name; Enter shows one after the other" : "");
        draw();
    }
    function next(step) {
        var nodes = hits ? Array.from(hits) : [];
        if (!nodes.length)
            return;
        hitAt = (hitAt + step + nodes.length) % nodes.length;
        var node = nodes[hitAt], length = Math.max((end(node) - start(node)) * 12, 10);
        length = Math.min(length, view.to - view.from);
        var at = (start(node) + end(node)) / 2;
        show(at - length / 2, at + length / 2);
        choose(node);
    }

    // Where an event is, as a time.
    function timeAt(event) {
        var point = new DOMPoint(event.clientX, event.clientY)
            .matrixTransform(svg.getScreenCTM().inverse());
        return view.from + (point.x - data.left) * (view.to - view.from) / data.wide;
    }
    var drag = null;
    svg.addEventListener("wheel", function (event) {
        if (!event.ctrlKey && !event.shiftKey)
            return;
        event.preventDefault();
        zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, timeAt(event));
    }, { passive: false });
    svg.addEventListener("pointerdown", function (event) {
        if (!event.target.closest("foreignObject"))
            drag = { at: timeAt(event), left: event.clientX, moved: false };
    });
    svg.addEventListener("pointermove", function (event) {
        if (!drag || !drag.moved && Math.abs(event.clientX - drag.left) < 4)
            return;
        drag.moved = true;
        var by = drag.at - timeAt(event);
        show(view.from + by, view.to + by);
    });
    window.addEventListener("pointerup", function (event) {
        var target = event.target.closest && event.target.closest("[data-node]");
        if (drag && !drag.moved && svg.contains(event.target))
            choose(target ? +target.dataset.node : -1);
        drag = null;
    });
    svg.addEventListener("dblclick", function () { show(0, data.span); });

    var page = "http://www.w3.org/1999/xhtml";
    var holder = document.createElementNS("http://www.w3.org/2000/svg", "foreignObject");
    [["x", 900], ["y", 12], ["width", 680], ["height", 30]].forEach(function (pair) {
        holder.setAttribute(pair[0], pair[1]);
    });
    var controls = document.createElementNS(page, "div");
    controls.setAttribute("class", "controls");
    controls.appendChild(document.createTextNode("Ctrl + wheel zooms, dragging moves "));
    var field = document.createElementNS(page, "input");
    field.setAttribute("type", "search");
    field.setAttribute("placeholder", "name of a node");
    field.setAttribute("aria-label", "search nodes by name");
    field.addEventListener("input", function () { search(field.value); });
    field.addEventListener("keydown", function (event) {
        if (event.key === "Enter")
            next(event.shiftKey ? -1 : 1);
    });
    controls.appendChild(field);
    [["+", function () { zoom(0.5, middle()); }], ["\u2212", function () { zoom(2, middle()); }],
        ["all", function () { show(0, data.span); }]].forEach(function (pair) {
        var button = document.createElementNS(page, "button");
        button.textContent = pair[0];
        button.addEventListener("click", pair[1]);
        controls.appendChild(button);
    });
    holder.appendChild(controls);
    svg.appendChild(holder);
    svg.braid = { show: show, search: search, next: next, choose: choose };
    draw();
})();
