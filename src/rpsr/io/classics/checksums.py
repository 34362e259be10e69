"""The files of the classic POMDP repository: name, length and SHA-256 of each.

The 65 files are those of the example page at pomdp.org. The paper evaluates 60 of them: all but
baseball, bridge-repair, ejs3, fourth and tiger.95. The table omits hanks.95 and network.95: in an
archive of the page, their bytes equal those of paint.95 and network.

The digests are of the uncompressed texts. They come from copies, never from the public server,
because no network was available. For every file but ejs2, at least one other public project has a
copy with the same digest. ejs2, ejs4, ejs5, ejs6 and ejs7 are those of the server's own archive, of
which a copy was found, and say `values: rewards`; corrected copies in circulation say
`values: reward` and have other digests.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from gzip import GzipFile
from io import BytesIO

from rpsr.errors import InputError
from rpsr.io.files import GZIP_MAGIC


@dataclass(frozen=True)
class Classic:
    """One file of the repository; `sha256` and `size` are those of its uncompressed text."""

    name: str
    file: str
    sha256: str
    size: int
    packed: str | None = None  # the server's .gz or .tar.gz file that holds it; None if plain

    @property
    def address(self) -> str:
        """The file to request from a server."""
        return self.packed or self.file

    @property
    def room(self) -> int:
        """The most bytes accepted: enough for other line endings, not for another kind of file."""
        return 2 * self.size + 2**14


def find(name: str, table: Sequence[Classic]) -> Classic:
    """The file of this name, with or without its suffix."""
    for classic in table:
        if name in (classic.name, classic.file):
            return classic
    names = {classic.name.casefold(): classic.name for classic in table}
    asked = name.casefold().removesuffix(".gz").removesuffix(".pomdp")
    near = get_close_matches(asked, names, n=5) or [key for key in names if asked and asked in key]
    hint = "did you mean " if near else "expected one of "
    raise InputError(
        f"no classic problem is called {name!r}; {hint}{', '.join(names[k] for k in near or names)}"
    )


# Errors of the standard library on bytes that are not a gzip or tar file.
_BROKEN = (EOFError, OSError, OverflowError, ValueError, zlib.error, tarfile.TarError)


def unpack(wire: bytes, place: str, group: Sequence[Classic], room: int) -> dict[str, bytes]:
    """The texts in a server's reply, by file name: plain, gzipped, or members of an archive.

    From an archive, only regular files named as in `group` are read, in any folder.
    """
    try:
        if wire.startswith(GZIP_MAGIC):
            with GzipFile(fileobj=BytesIO(wire)) as stream:
                wire = stream.read(room + 1)
            if len(wire) > room:
                raise InputError(f"unpacks to more than {room} bytes, the limit", place=place)
        if not place.endswith(".tar.gz"):
            return {group[0].file: wire}
        rooms = {classic.file: classic.room for classic in group}
        texts: dict[str, bytes] = {}
        with tarfile.open(fileobj=BytesIO(wire), mode="r:") as archive:
            for member in archive:
                file = member.name.rpartition("/")[2]
                if member.isreg() and member.size <= rooms.get(file, -1):
                    content = archive.extractfile(member)
                    texts[file] = content.read() if content else b""
        return texts
    except _BROKEN as error:
        raise InputError(f"cannot be unpacked ({type(error).__name__})", place=place) from None


_ARCHIVES = {"cheng": "cheng-examples.tar.gz", "ejs": "ejs.tar.gz"}

# Name, form on the server (`-` plain, `gz`, or the archive that holds it), bytes, SHA-256.
_TABLE = """
1d - 374 73e22df6b5a805afcf6493960dffa92239e200d3a75d09d122b9cfcdd6ecfc2d
1d.noisy - 436 d0a933cb7806b3b31549c0e6a91af90ada965ee92c4d0f8e29a4f10ccce77264
4x3.95 - 4235 0fa62301931960d682b02961ffd38f4dd6b8e8835bc0203f4a12f849c267d6ff
4x4.95 - 4813 2f71024ba9fbb00c18d8fcc572127e6ec0bfe230feb15a3b33ae08596554578b
4x5x2.95 gz 25980 9613757a07d48a7112ccf77273ba370e0b1ec0d4c95f0a9cc4b9758a0899fea9
aloha.10 gz 98498 ea65046e17f42b5b33a047caa417affe61d962623023f98afc58849f0cb55d08
aloha.30 gz 1681189 805d586e720757cec84a7aa9d74ab425ddf8dd42b2512e43659dd1027886d0d6
baseball gz 6941549 731143d8f1e0b3e4db085cc235718d34afb1de12d92a2df9be179882a2aa3524
bridge-repair gz 9623 2a31d9e786814d5b3fcf2b70781809aea9f5a88eb0a64a4165376bbd3abe8cbb
bulkhead.A gz 12255 756222371ee250181c35c2a80fcbb00d339b2bedf28a73bfdb00acca3e67b968
cheese.95 - 3781 ccda4da997cca14e98d2a83873082cebfde9f053790c877f8768f0c658a8b93c
cheng.D3-1 cheng 687 599d2c5bd1ea1a98ae1c53052a69a2109531f512118aa9a1b131d95eebf2196c
cheng.D3-2 cheng 689 0f6dba8f8ed4ed98eead86ef846eb7f2a12efef11bbd33d003e53c1743c95893
cheng.D3-3 cheng 692 8d7d4f6b4e77ad02cd9c1c4c59a790a2762a98301f3a961fbb2706f01640e1fd
cheng.D3-4 cheng 689 fef67fd25f34701cd5c2cbbc0a208e8d4ef54549d9ca4c83ae0bf2c3f0512b3c
cheng.D3-5 cheng 686 03673f9bdea3e4dc87e3d87e16d364119aea19263a0236afbcc11179fa55360d
cheng.D4-1 cheng 1290 44782dbd85d37b4160fea9f1c1eadc480670efe42e80866915493ce72cca900a
cheng.D4-2 cheng 1290 a46c5a65495ab4bd2612202174eed1ec5376cbec897bbb17ef6383dcd51b7a74
cheng.D4-3 cheng 1290 2e8ab5ea9378cc06304cb362953d33223971d85812a48d06022f94d9df10c1e2
cheng.D4-4 cheng 1290 03df6a39e545049f2ac1e9a9a37206f8ddd57c964129e3258e368493df1f30ad
cheng.D4-5 cheng 1291 1085aa5f8b01412679563b76ae4b427b2b88e417e9151eaa4f180e6373b87cd3
cheng.D5-1 cheng 1210 739e883921d341a4d43ffbfcffa159781e713476ed06c65fb256d74be7e70a80
cit gz 817556 33fb257ecad6c231bece02d0eebb0974dee6a07153de7c990c1213dcd78c7bac
concert - 692 910d02a4014ce7ac22c64a5fd19d8298ac6849d92f839b47190da903d454f308
ejs-ft-counter ejs 321 4fdeb3ae9e65de7e9427111414c851162f2d400f54b85ca89235bfbf87a99cf9
ejs1 ejs 971 0c1202c3cc4175072f2ea86db20bc57268863f7af715eee99a6564376caa9624
ejs2 ejs 241 6f9cca844431271c9c15b94de08e283aef89b8487a6e48b7c1fc76d024a8d207
ejs3 ejs 236 cdda79bfccde1e816175ebf54c8f4255292be4ef78ceef0db87638c9ccabc358
ejs4 ejs 354 2b341290602bd7b48606aeb79db4eafb4c138f1f28e8d9c05d79c823e468c4e8
ejs5 ejs 251 ac0e0ac1ca6ce497de38608c4e0f299265e42ce438f62d086ff956fea9dabeb9
ejs6 ejs 251 09f327e26fd25ae60a1b543b589c0c924d599c7255ba4fcc74b6002c068e4553
ejs7 ejs 252 77c4deae7b90c69619fedbda3ecc002355b2bdb927c569f14f0f91b404067552
fourth gz 3075145 c4d2652190e4aacaa9342336c98761a73ee1e9c446319dd2674b1d9db9946d0c
hallway gz 34661 f32e63798d160aa62974d057dbb34259d400367678f5e33884c3ef34c2df9cd6
hallway2 gz 53619 4c46b15a1982b2ce8ddb1a3e421a4cdc03a6a10ea641c996382c00747abce0c1
iff gz 81294 ad38617fdd964219201b75ef3ccd72a79d76c0fbe13b2ab22fcb29090706cbc5
learning.c2 gz 21646 502d97877c3a30da14dac3ec96e3d2291cfa9b4b5280bd01af16b2928ad2bd7a
learning.c3 gz 67395 2d5f0b536a39e75fab01795bce0d53f1289884a6d1e3d181eb864960a57d05ed
learning.c4 gz 187952 aa7012bfe12abc298118ed74857b9203033409e5e09a3e4422272f021db8aad4
line4-2goals - 368 ce1ca9e8caa553cb5e80684ab74cad33a7bb38411ad9db72d88e1b3229692278
machine gz 251355 8beec75d96559607b1330f632c5d7f6ed64605901f0dd30ce91e884ebea43771
marking - 3042 6eb03df070820e261a4b61742cedac70b7cf65ab534a9e9dba748a363c73bbc5
marking2 - 3042 c02485eb0196dc3f7da730d180103df611d963fcfe1217562d997d81cd7e440c
mcc-example1 - 2525 8f481a88135b327a1a22e51e28cbe6fdffa8137a106f25d57a88089d5f6796d5
mcc-example2 - 2525 15c30e4a34bf69e3609d4d4302dd6f95116ff51e2541394a45f8501724c6a2d6
milos-aaai97 gz 11934 7a7122f887fdc5a7f5dec4fa40464ae03b1d6e9ae4eac7b26b4df78dd08b1e54
mini-hall2 - 1501 6f2de94cc64be60059a102f9c3a5fc9f80bb67e3c643c29be2d31fc3a868f383
mit gz 583359 bd40095246d04ed970f3b58f60d4c03ba5e85ac91869f76fd7db48a366192b41
network - 4528 0fc9cfe80d0444b528b42f30b8d0f96d4595c36f397ab213732d90b1d144d321
paint.95 - 1230 eca05e85c18715f86658b480540bb89ede0cb1577c071c0e3c731a160794b38a
parr95.95 - 863 f96875c1b71d58af6bd4279f10df46f25b4bb7d1fe0249472a717fe071fd5265
pentagon gz 606816 08c463b017f6777a09c27635dd9fa793cd94c6827a9b9c30daff05b0e41927bb
query.s2 gz 1797 2f150bb412b1ad70ccf371f1104b33aea85515eafd4d44b85c28f5b41153a83a
query.s3 gz 17232 eec805a18c15fd0b40d3f86caf086aa00c9469b224ce168b2cba5f568fe67c9d
query.s4 gz 213501 deea5b4efda5c9cb0f28e875363aa0d11b8ea559d053f9d725507208dd54cfa6
saci-s100-a10-z31 gz 445401 a76d88dfa0d4ff6f9ffdb5f017569db6483df1a2447e6d4e10e2513905552b6e
saci-s12-a6-z5.95 gz 10295 f0f0dd4d45a8bb2fa0ef07ff28b2e7d59d7de739049d72969361a053ff0095c0
shuttle.95 - 2281 a69baec2d6e83e239bafa4c6b74faead794e7c91400bf69c7d3813ed114cea94
stand-tiger.95 - 1412 b0befc53712ff44e150d21f0214203b97c98ae6b4acb31f8c16144c30d5c75df
sunysb gz 864790 b439074ec3fe430e11c0668776831c65cf2b550c99bc82dda6123792643f031c
tiger-grid gz 19601 1fd201d41506a1b8e976cd84ca936112783221c2aeaa818d2652f7ae23411f74
tiger.95 - 603 ef15515a230f600a9e5c5f1636708e15aca7a962d1095356652f8ebe82053ba0
tiger.aaai - 586 61454b9bf84faf427c8275feea26d81d8e69fea30a727bed5cfb63b3a1c21ae1
web-ad - 2922 e6c8b204f5ea42a40b6bbef08b67aa6c2896ab87f6ecac8550f62802a1f26260
web-mall - 2217 98d816e7ef2bcbdffcd7c0a68c72c9fb64dd83d562d7d1b611cf49eaeffb95eb
"""


def _read(line: str) -> Classic:
    name, kept, size, sha256 = line.split()
    file = f"{name}.POMDP"
    packed = {"-": None, "gz": f"{file}.gz", **_ARCHIVES}[kept]
    return Classic(name, file, sha256, int(size), packed)


CLASSICS: tuple[Classic, ...] = tuple(map(_read, _TABLE.split("\n")[1:-1]))
