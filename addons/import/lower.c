// SPDX-License-Identifier: Apache-2.0
// PTX for a driver that is older than its compiler: the same text under an older version.
//
// The text has only words of the lists below. They are words of PTX ISA 8.4, by the release notes
// of its manual. It came with CUDA 12.4, and imports need that driver. The lists leave out many. If
// an instruction of known parts is new as a whole, the driver refuses the text. The program's own
// function plays then.
#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_edit.h"
#include "base/host_memory.h"
#include "import/reload.h"

int braid_import_newest_ptx(int driver_version)
{
    static const int of_cuda_12[] = { 800, 801, 802, 803, 804, 805, 805, 806, 807, 808 };
    const int major = driver_version / 1000, minor = driver_version % 1000 / 10;
    if (major == 12 && minor < (int)(sizeof(of_cuda_12) / sizeof(*of_cuda_12)))
        return of_cuda_12[minor];
    return major == 13 ? 900 + minor : 0;
}

// Between blanks, at both ends as well.
static const char instructions[] =
    " abs activemask add addc and atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call clz "
    "cnot copysign cos cvt cvta div dp2a dp4a ex2 exit fence fma fns isspacep ld ldu lg2 lop3 mad "
    "mad24 madc match max membar min mov mul mul24 nanosleep neg not or popc prefetch prmt rcp red "
    "redux rem ret rsqrt sad selp set setp shf shfl shl shr sin slct sqrt st sub subc szext tanh "
    "testp trap vote xor ";

// Parts of instructions, and directives.
static const char parts[] =
    " b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 pred v2 v4 reg "
    "const global local param shared shared::cta rn rz rm rp rni rzi rmi rpi ftz sat approx full "
    "lo "
    "hi wide uni to cc eq ne lt le gt ge ls hs equ neu ltu leu gtu geu num nan and or xor NaN ca "
    "cg "
    "cs lu cv wb wt nc volatile relaxed acquire release acq_rel weak sc cta gpu sys exch cas add "
    "inc "
    "dec min max sync up down bfly idx all any ballot aligned warp arrive red popc f4e b4e rc8 ecl "
    "ecr rc16 l r wrap clamp shiftamt finite infinite number notanumber normal subnormal gl "
    "version target address_size visible extern func entry align ptr maxntid reqntid minnctapersm "
    "maxnreg noreturn pragma loc file section branchtargets callprototype debug_abbrev "
    "debug_aranges debug_frame debug_info debug_line debug_line_str debug_loc debug_macinfo "
    "debug_pubnames debug_pubtypes debug_ranges debug_str ";

static bool is_listed(const char *list, const char *at, size_t length)
{
    for (const char *found = list; (found = strchr(found, ' ')) && found[1]; found++) {
        if (strncmp(found + 1, at, length) == 0 && found[length + 1] == ' ')
            return true;
    }
    return false;
}

// All that stands behind dots. A dot without a part is none of these.
static bool has_known_parts(struct ptx_word word)
{
    const char *end = word.at + word.length, *dot = memchr(word.at, '.', word.length);
    while (dot && dot < end) {
        const char *next = memchr(dot + 1, '.', (size_t)(end - dot - 1));
        const size_t length = (size_t)((next ? next : end) - dot - 1);
        if (!length || !is_listed(parts, dot + 1, length))
            return false;
        dot = next;
    }
    return true;
}

static bool is_any(struct ptx_word word, const char *const *names)
{
    for (; *names; names++) {
        if (braid_ptx_word_begins(word, *names))
            return true;
    }
    return false;
}

static uint32_t count(struct ptx_word word, const char *end, const char *what)
{
    uint32_t num = 0;
    for (const char *at = word.at; (at = strpbrk(at, what)) && at < end; at++)
        num++;
    return num;
}

// Later versions take sums of two types, and the least of three.
static bool is_known(const struct ptx_statement *statement)
{
    static const char *const sums[] = { "add.f", "add.r", "sub.f", "sub.r", "fma.r", NULL };
    static const char *const least[] = { "min.", "max.", NULL };
    const struct ptx_word word = statement->word;
    const char *dot = memchr(word.at, '.', word.length);
    if (!is_listed(instructions, word.at, dot ? (size_t)(dot - word.at) : word.length))
        return false;
    if (is_any(word, least) && count(word, statement->end, ",") > 2)
        return false;
    return !(is_any(word, sums) && count(word, word.at + word.length, "0123456789") > 3);
}

// The word behind a .pragma is a string.
static bool is_known_pragma(const char *at)
{
    static const char *const names[] = { "\"nounroll\"", "\"used_bytes_mask ", NULL };
    return is_any(braid_ptx_next_word(&at), names);
}

static bool has_known_words(const struct ptx *ptx)
{
    const struct ptx_statement *statements = ptx->statements.items;
    const char *at = ptx->text;
    for (size_t i = 0; i < ptx->statements.num; i++) {
        if (statements[i].kind == PTX_INSTRUCTION &&
            (!is_known(&statements[i]) || !has_known_parts(statements[i].word)))
            return false;
    }
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length;
         word = braid_ptx_next_word(&at)) {
        if (*word.at == '.' && !has_known_parts(word))
            return false;
        if (braid_ptx_word_is(word, ".pragma") && !is_known_pragma(at))
            return false;
    }
    return true;
}

char *braid_import_lower(const char *text, const struct ptx *ptx, int newest, const char **out_why)
{
    struct gpu_edits edits = { 0 };
    const char *end = ptx->version.at + ptx->version.length;
    char version[16];
    *out_why = NULL;
    if (!newest || !ptx->version.length || braid_ptx_version(ptx) <= newest)
        return braid_copy_text(text);
    if (!has_known_words(ptx)) {
        *out_why = "its text may need a newer PTX than the driver reads";
        return NULL;
    }
    snprintf(version, sizeof(version), "%d.%d", newest / 100, newest % 100);
    braid_gpu_edit(&edits, ptx->version.at, end, version);
    char *made = braid_gpu_apply_edits(&edits, text);
    braid_gpu_edits_finish(&edits);
    return made;
}
