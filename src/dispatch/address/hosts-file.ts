import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';

/**
 * Names from the machine's hosts file, which c-ares queries ignore. The file is read again when its
 * modification time changed, checked at most every 5 s. A missing or unreadable file counts as empty.
 */

const RECHECK_MS = 5_000;
const HOSTS_PATH = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts';

export class HostsFile {
  readonly #path: string;
  #names = new Map<string, string[]>();
  #modifiedMs = -1;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(path: string = HOSTS_PATH) {
    this.#path = path;
  }

  async addressesOf(name: string): Promise<readonly string[]> {
    const now = performance.now();
    if (now - this.#checkedAt >= RECHECK_MS) {
      this.#checkedAt = now;
      await this.#reload();
    }
    return this.#names.get(name) ?? [];
  }

  async #reload(): Promise<void> {
    try {
      const { mtimeMs } = await stat(this.#path);
      if (mtimeMs === this.#modifiedMs) return;
      this.#names = parseHosts(await readFile(this.#path, 'utf8'));
      this.#modifiedMs = mtimeMs;
    } catch {
      this.#names = new Map();
      this.#modifiedMs = -1;
    }
  }
}

export function parseHosts(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const alias of aliases) {
      const name = alias.toLowerCase().replace(/\.$/, '');
      const known = names.get(name) ?? [];
      if (!known.includes(address)) known.push(address);
      names.set(name, known);
    }
  }
  return names;
}
