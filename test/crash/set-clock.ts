import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { locateBinaries } from '../../src/embedded-postgres/binaries.ts';
import { faketimePath } from '../support/suite/parts.ts';

/**
 * A clock that a test sets, for a program or a server of its own: the wall clock alone. The time since its start goes on
 * evenly, as when a person or NTP sets the clock of a machine.
 */
export class SetClock {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
    this.set(0);
    chmodSync(file, 0o644);
  }

  /** It is this far ahead of the real time. Programs see it within a second. */
  set(seconds: number): void {
    writeFileSync(this.#file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  }

  /** For a program that lives by this clock. */
  get env(): Record<string, string> {
    return {
      LD_PRELOAD: faketimePath ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** PostgreSQL whose server lives by this clock. */
  async binaries(folder: string): Promise<string> {
    const real = await locateBinaries();
    mkdirSync(join(folder, 'bin'), { recursive: true });
    for (const part of ['lib', 'share']) await symlink(join(real.root, part), join(folder, part));
    const settings = Object.entries(this.env).map(([name, value]) => `${name}=${value}`);
    const write = (name: string, line: string) => {
      const file = join(folder, 'bin', name);
      writeFileSync(file, `#!/bin/sh\nexec ${line} "$@"\n`);
      chmodSync(file, 0o755);
    };
    write('postgres', `env ${settings.join(' ')} ${real.postgres}`);
    write('initdb', real.initdb);
    return folder;
  }
}
