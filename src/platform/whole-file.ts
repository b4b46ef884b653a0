import { randomBytes, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/**
 * A gzip file that appears whole or not at all. It is written under a temporary name, synced to the disk and
 * then renamed, and the directory is synced too. The rename replaces an existing file in one step. Each write
 * is a gzip member of its own; readers treat consecutive members as one stream.
 */
const TEMPORARY = '.tmp';
const OWNER_ONLY = 0o600;
/** A temporary file not modified for this long belongs to a process that was killed. */
const ABANDONED_MS = 3_600_000;
const PROBE_BYTES = 65_536;

const compress = promisify(gzip);

/** A file or directory could not be written: no space, no permission, or it does not exist. */
export class WriteError extends Error {}

/** Failures of the work are WriteErrors. */
export async function writing<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new WriteError(`${path} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

export class GzipFile {
  readonly #directory: string;
  readonly #name: string;
  readonly #temporary: string;
  readonly #handle: FileHandle;
  #isEmpty = true;

  private constructor(place: { directory: string; name: string; temporary: string }, handle: FileHandle) {
    this.#directory = place.directory;
    this.#name = place.name;
    this.#temporary = place.temporary;
    this.#handle = handle;
  }

  static async create(directory: string, name: string): Promise<GzipFile> {
    const temporary = join(directory, `${name}.${randomBytes(4).toString('hex')}${TEMPORARY}`);
    const handle = await writing(directory, () => open(temporary, 'wx', OWNER_ONLY));
    return new GzipFile({ directory, name, temporary }, handle);
  }

  async write(text: string): Promise<void> {
    const bytes = await compress(text);
    this.#isEmpty = false;
    await writing(this.#temporary, () => this.#handle.writeFile(bytes));
  }

  /** After this the file is durable under its own name, if anything was written. */
  async finish(): Promise<void> {
    if (this.#isEmpty) return;
    const path = join(this.#directory, this.#name);
    await writing(path, async () => {
      await this.#handle.sync();
      await this.#handle.close();
      await rename(this.#temporary, path);
      await syncDirectory(this.#directory);
    });
  }

  /** Call it in any case. It removes an unfinished file. */
  async discard(): Promise<void> {
    await this.#handle.close();
    await rm(this.#temporary, { force: true });
  }
}

/** Writes a file that only its owner may read. A crash leaves the old one: the new one is renamed to it. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await writeFile(draft, text, { mode: OWNER_ONLY, flush: true });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Makes a file that was created or renamed in the directory durable under its name. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Throws a WriteError unless a file can be written here now. Removes leftovers of killed processes. */
export async function prepareDirectory(directory: string): Promise<void> {
  await writing(directory, async () => {
    for (const name of await readdir(directory)) {
      const path = join(directory, name);
      if (name.endsWith(TEMPORARY) && Date.now() - (await stat(path)).mtimeMs > ABANDONED_MS)
        await rm(path, { force: true });
    }
    const probe = join(directory, `probe.${randomBytes(4).toString('hex')}${TEMPORARY}`);
    const handle = await open(probe, 'wx', OWNER_ONLY);
    try {
      await handle.writeFile(randomBytes(PROBE_BYTES));
      await handle.sync();
    } finally {
      await handle.close();
      await rm(probe, { force: true });
    }
  });
}
