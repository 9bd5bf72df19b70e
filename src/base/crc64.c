/* base/crc64.c: CRC-64/XZ, eight bytes at a time.
 *
 * The checksum of eight bytes is the XOR of eight table entries, one for each byte and its place. A table is
 * linear too: the entry of a byte is the XOR of those of its bits. So eight numbers stand for each table, and
 * the compiler makes the rest. */
#include "base/encode.h"

#define AT(n, b0, b1, b2, b3, b4, b5, b6, b7)                                                                \
    (((n) & 1u ? (b0) : 0) ^ ((n) & 2u ? (b1) : 0) ^ ((n) & 4u ? (b2) : 0) ^ ((n) & 8u ? (b3) : 0) ^         \
     ((n) & 16u ? (b4) : 0) ^ ((n) & 32u ? (b5) : 0) ^ ((n) & 64u ? (b6) : 0) ^ ((n) & 128u ? (b7) : 0))
#define AT_4(n, ...)                                                                                         \
    AT(n, __VA_ARGS__), AT((n) + 1u, __VA_ARGS__), AT((n) + 2u, __VA_ARGS__), AT((n) + 3u, __VA_ARGS__)
#define AT_16(n, ...)                                                                                        \
    AT_4(n, __VA_ARGS__), AT_4((n) + 4u, __VA_ARGS__), AT_4((n) + 8u, __VA_ARGS__),                          \
        AT_4((n) + 12u, __VA_ARGS__)
#define AT_64(n, ...)                                                                                        \
    AT_16(n, __VA_ARGS__), AT_16((n) + 16u, __VA_ARGS__), AT_16((n) + 32u, __VA_ARGS__),                     \
        AT_16((n) + 48u, __VA_ARGS__)
#define TABLE(...)                                                                                           \
    {AT_64(0u, __VA_ARGS__), AT_64(64u, __VA_ARGS__), AT_64(128u, __VA_ARGS__), AT_64(192u, __VA_ARGS__)}

/* table[k][b]: byte b with k bytes behind it. */
static const uint64_t table[8][256] = {
    TABLE(0xb32e4cbe03a75f6fu, 0xf4843657a840a05bu, 0x7bd0c384ff8f5e33u, 0xf7a18709ff1ebc66u,
          0x7d9ba13851336649u, 0xfb374270a266cc92u, 0x64b62bcaebc387a1u, 0xc96c5795d7870f42u),
    TABLE(0x54e979925cd0f10du, 0xa9d2f324b9a1e21au, 0xc17d4962dc4ddab1u, 0x10223dee1795abe7u,
          0x20447bdc2f2b57ceu, 0x4088f7b85e56af9cu, 0x8111ef70bcad5f38u, 0x90fb71cad654a0f5u),
    TABLE(0x3f0be14a916a6dcbu, 0x7e17c29522d4db96u, 0xfc2f852a45a9b72cu, 0x6a87a57f245d70ddu,
          0xd50f4afe48bae1bau, 0x38c63ad73e7bddf1u, 0x718c75ae7cf7bbe2u, 0xe318eb5cf9ef77c4u),
    TABLE(0x1dee8a5e222ca1dcu, 0x3bdd14bc445943b8u, 0x77ba297888b28770u, 0xef7452f111650ee0u,
          0x4c300ac98dc40345u, 0x986015931b88068au, 0xa218840d981e1391u, 0xd6e9a7309f3239a7u),
    TABLE(0x5c2d776033c4205eu, 0xb85aeec0678840bcu, 0xe26d72ab601e9ffdu, 0x56024a7d6f33217fu,
          0xac0494fade6642feu, 0xcad186de13c29b79u, 0x077ba297888b2877u, 0x0ef7452f111650eeu),
    TABLE(0x6184d55f721267c6u, 0xc309aabee424cf8cu, 0x14cbfa566747819du, 0x2997f4acce8f033au,
          0x532fe9599d1e0674u, 0xa65fd2b33a3c0ce8u, 0xde670a4ddb760755u, 0x2e16bbb019e2102fu),
    TABLE(0x22ef0d5934f964ecu, 0x45de1ab269f2c9d8u, 0x8bbc3564d3e593b0u, 0x85a0c5e208c539e5u,
          0x999924efbe846d4fu, 0xa1eae6f4d206c41bu, 0xd10d62c20b0396b3u, 0x30c26aafb90933e3u),
    TABLE(0xdabe95afc7875f40u, 0x27a584742000a005u, 0x4f4b08e84001400au, 0x9e9611d080028014u,
          0xaff48c8aaf0b1eadu, 0xcd31b63ef11823dfu, 0x08bbc3564d3e593bu, 0x117786ac9a7cb276u),
};

uint64_t cd_crc64(uint64_t crc, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    crc = ~crc;
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t v = crc ^ cd_get_u64(p);
        crc = table[7][v & 255] ^ table[6][v >> 8 & 255] ^ table[5][v >> 16 & 255] ^ table[4][v >> 24 & 255] ^
              table[3][v >> 32 & 255] ^ table[2][v >> 40 & 255] ^ table[1][v >> 48 & 255] ^ table[0][v >> 56];
    }
    for (; len > 0; p++, len--)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}
