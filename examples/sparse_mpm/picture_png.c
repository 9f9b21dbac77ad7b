// SPDX-License-Identifier: Apache-2.0
// Writes a picture with libpng.
#include <png.h>
#include <string.h>

#include "picture.h"

bool mpm_picture_write(const struct mpm_picture *picture, const char *path)
{
    png_image image;
    memset(&image, 0, sizeof(image));
    image.version = PNG_IMAGE_VERSION;
    image.width = MPM_PICTURE_SIDE;
    image.height = MPM_PICTURE_SIDE;
    image.format = PNG_FORMAT_RGB;
    return png_image_write_to_file(&image, path, 0, picture->pixels, 0, NULL) != 0;
}
