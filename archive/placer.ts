// How do the entries of an archive become files below a directory?
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { Descent, Obstacle } from "./descent.ts";
import { isDirectory, namesOf, wayOf } from "./entries.ts";
import { ArchiveFault, isSystemError, withPath } from "./faults.ts";
import { type Modes, PERMISSION_BITS } from "./modes.ts";
import type { TarEntry, TarSink } from "./tar/reader.ts";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
const NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
const OLD_FILE = O_WRONLY | O_NOFOLLOW | O_NONBLOCK;
/** Modes while the archive is being unpacked: only this user may read what is not complete. */
const UNFINISHED_FILE = 0o600;
const UNFINISHED_DIR = 0o700;
/** The mode of a file whose header has none. */
const MODE_OF_NO_MODE = 0o644;

/**
 * Writes entries below a directory, as they come. No entry is written through a link, whoever has made it.
 * What is in the way of a file or a link is replaced, except a directory with entries; what is in the way of
 * a directory is a fault (decisions/files.md#modes-in-an-archive). Close it at the end, also after an error.
 */
export class Placer implements TarSink {
  readonly #into: string;
  readonly #modes: Modes;
  /** The paths at which the archive has symbolic links. */
  readonly #links: ReadonlySet<string>;
  readonly #places: Descent;
  /** Where hard links lead to. */
  readonly #targets: Descent;
  readonly #isChosen: (entry: TarEntry) => boolean;
  /** Whether something was removed: a directory, perhaps, in whose place there is a link now. */
  #isStale = false;
  /** The file that is being written. */
  #file: { fd: number; path: string; entry: TarEntry } | undefined;

  /**
   * `links`: the paths at which the archive has symbolic links. All of them lead to places inside.
   * `isChosen`: other entries are left out. `hasDescriptors`: see `Descent`.
   */
  constructor(
    into: string,
    modes: Modes,
    links: ReadonlySet<string>,
    isChosen: (entry: TarEntry) => boolean,
    hasDescriptors?: boolean,
  ) {
    this.#into = into;
    this.#modes = modes;
    this.#links = links;
    this.#isChosen = isChosen;
    this.#places = Descent.open(into, hasDescriptors);
    this.#targets = Descent.open(into, hasDescriptors);
  }

  begin(entry: TarEntry): void {
    if (!this.#isChosen(entry)) return;
    if (this.#isStale) this.#lookAgain();
    const path = namesOf(entry.path).join("/");
    if (isDirectory(entry)) this.#directory(path, entry);
    else if (path === "") throw new ArchiveFault(`"${entry.path}" is not a file, but the directory itself`);
    else this.#leaf(path, entry);
  }

  content(bytes: Buffer): void {
    const { fd, path } = this.#file ?? {};
    if (fd === undefined || path === undefined) return;
    this.#named(path, () => {
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    });
  }

  end(): void {
    if (this.#file === undefined) return;
    const { fd, path, entry } = this.#file;
    this.#named(path, () => {
      fchmodSync(fd, this.#modes.ofFile(path, entry.mode ?? MODE_OF_NO_MODE));
      if (isTime(entry.mtime)) futimesSync(fd, new Date(), entry.mtime);
    });
    this.#file = undefined;
    closeSync(fd);
  }

  /** Closes what is open. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file.fd);
    this.#places.close();
    this.#targets.close();
  }

  #leaf(path: string, entry: TarEntry): void {
    this.#modes.forget(path);
    if (entry.type === "SymbolicLink") this.#symbolicLink(path, entry.linkpath ?? "");
    else if (entry.type === "Link") this.#hardLink(path, namesOf(entry.linkpath ?? "").join("/"));
    else this.#file = { fd: this.#at(path, (name) => this.#openFile(name)), path, entry };
  }

  #lookAgain(): void {
    this.#places.forget();
    this.#targets.forget();
    this.#isStale = false;
  }

  /** Keeps a file that is there and has no other name: others may have it open, or mounted. */
  #openFile(name: string): number {
    try {
      return openSync(name, NEW_FILE, UNFINISHED_FILE);
    } catch (error) {
      if (!isSystemError(error, "EEXIST")) throw error;
    }
    const found = lstatSync(name);
    const old = found.isFile() && found.nlink <= 1 ? openOwn(name) : undefined;
    if (old !== undefined) return old;
    this.#clear(name);
    return openSync(name, NEW_FILE, UNFINISHED_FILE);
  }

  /** The mode of the directory itself stays: the archive may list it. */
  #directory(path: string, { mode, mtime }: TarEntry): void {
    if (path === "") return;
    this.#modes.forget(path);
    const name = this.#named(path, () => this.#places.nameOf(path, this.#makeDirectory));
    if (mode !== undefined) this.#modes.ofDirectory(path, mode);
    // `pack` gives directories the time 0, which means that they have no time.
    if (isTime(mtime) && mtime.getTime() !== 0) {
      this.#named(path, () => utimesSync(name, new Date(), mtime));
    }
  }

  #symbolicLink(path: string, target: string): void {
    this.#checkWay(path, target);
    this.#at(path, (name) => {
      this.#clear(name);
      symlinkSync(target, name);
    });
  }

  /**
   * Refuses a link whose way leads through a link that was there before: nobody knows where that one leads.
   * Links of the archive lead to places inside, so the rest of the way is inside, too.
   */
  #checkWay(path: string, target: string): void {
    const way = wayOf(path, target);
    try {
      this.#targets.nameOf(way);
    } catch (error) {
      if (isSystemError(error, "ENOENT")) return;
      if (!(error instanceof Obstacle)) throw withPath(error, join(this.#into, way));
      if (this.#links.has(error.at) || !this.#isLink(error.at)) return;
      throw new ArchiveFault(`"${path}" is a link to "${target}", through the link "${error.at}"`);
    }
  }

  #hardLink(path: string, target: string): void {
    if (target === path) throw new ArchiveFault(`"${path}" is a second name of itself`);
    this.#named(target, () => {
      const [folder, last] = splitPath(target);
      const source = `${this.#targets.nameOf(folder)}/${last}`;
      if (!lstatSync(source).isFile()) {
        throw new ArchiveFault(`"${path}" is a second name of "${target}", which is not a file`);
      }
      this.#at(path, (name) => {
        this.#clear(name);
        linkSync(source, name);
      });
    });
  }

  #isLink(path: string): boolean {
    const [folder, last] = splitPath(path);
    return lstatSync(`${this.#targets.nameOf(folder)}/${last}`).isSymbolicLink();
  }

  /** Removes what is there, except a directory with entries. */
  #clear(name: string): void {
    const found = lstatSync(name, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (found.isDirectory()) rmdirSync(name);
    else unlinkSync(name);
    this.#isStale = true;
  }

  /** Calls `act` with a name for the path. Missing directories above it are created. */
  #at<Result>(path: string, act: (name: string) => Result): Result {
    const [folder, last] = splitPath(path);
    return this.#named(path, () => act(`${this.#places.nameOf(folder, this.#makeDirectory)}/${last}`));
  }

  readonly #makeDirectory = (name: string, path: string): void => {
    const isNoted = this.#modes.ofMissing(path);
    mkdirSync(name, isNoted ? UNFINISHED_DIR : PERMISSION_BITS);
  };

  #named<Result>(path: string, act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      throw withPath(error, join(this.#into, path));
    }
  }
}

/**
 * Opens a file that was there, and empties it. Undefined if it is none of its own: since the look at it,
 * others may have put a second name of another file, or a pipe, in its place.
 */
function openOwn(name: string): number | undefined {
  const fd = openSync(name, OLD_FILE);
  if (isOnlyName(fd)) {
    ftruncateSync(fd);
    return fd;
  }
  closeSync(fd);
  return undefined;
}

function isOnlyName(fd: number): boolean {
  const found = fstatSync(fd);
  return found.isFile() && found.nlink <= 1;
}

function splitPath(path: string): [folder: string, last: string] {
  const cut = path.lastIndexOf("/");
  return cut < 0 ? ["", path] : [path.slice(0, cut), path.slice(cut + 1)];
}

function isTime(time: Date | undefined): time is Date {
  return time !== undefined && !Number.isNaN(time.getTime());
}
