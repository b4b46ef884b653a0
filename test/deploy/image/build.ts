/*
 * Follows the Dockerfile without a container engine: each stage is a folder that begins empty.
 *
 *   as written   COPY, COPY --from, the ignore file, WORKDIR, ENV, RUN
 *   substituted  FROM: the Node of our node_modules, and the tools of this machine
 *                absolute paths: they are inside the folder of the stage
 *                `npm ci`: see npm.ts
 *                USER: everything runs as the user of the test, and no file changes its owner
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, matchesGlob, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { instructions, pairs, ROOT, read } from './dockerfile.ts';
import { linkTree } from './link-tree.ts';

interface Stage {
  /** The folder that stands for `/`. */
  root: string;
  workdir: string;
  env: Record<string, string>;
}

const ignored = read('deploy/Dockerfile.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ pattern: line.replace(/^!/, ''), keeps: line.startsWith('!') }));

/** The last pattern wins that matches the path or a folder above it. */
function isInContext(path: string): boolean {
  const parts = relative(ROOT, path).split('/');
  const paths = parts.map((_part, i) => parts.slice(0, i + 1).join('/'));
  return ignored.findLast(({ pattern }) => paths.some((one) => matchesGlob(one, pattern)))?.keeps ?? true;
}

/** A folder with `node` and `npm`, to be first in the path. */
function makeTools(folder: string): string {
  mkdirSync(folder);
  symlinkSync(join(ROOT, 'node_modules/node/bin/node'), join(folder, 'node'));
  writeFileSync(join(folder, 'npm'), `#!/bin/sh\nexec node '${join(import.meta.dirname, 'npm.ts')}' "$@"\n`);
  chmodSync(join(folder, 'npm'), 0o755);
  return folder;
}

export class ImageBuild {
  readonly #folder = mkdtempSync(join(tmpdir(), 'posthorn-image-'));
  readonly #tools = makeTools(join(this.#folder, 'tools'));
  readonly #stages = new Map<string, Stage>();
  #stage: Stage = { root: this.#folder, workdir: '/', env: {} };

  static async run(): Promise<ImageBuild> {
    const build = new ImageBuild();
    try {
      for (const { name, rest } of instructions) await build.#follow(name, rest);
    } catch (error) {
      await build.stop();
      throw error;
    }
    return build;
  }

  async #follow(name: string, rest: string): Promise<void> {
    if (name === 'FROM') this.#begin(rest);
    else if (name === 'WORKDIR') this.#stage.workdir = rest;
    else if (name === 'ENV') Object.assign(this.#stage.env, Object.fromEntries(pairs(rest)));
    else if (name === 'COPY') this.#copy(rest);
    else if (name === 'RUN') await this.#runStep(rest);
    else if (!/^(ARG|USER|VOLUME|EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD)$/.test(name))
      throw new Error(`${name} ${rest}: this instruction is not known here`);
  }

  #begin(rest: string): void {
    const name = / AS (\w+)$/.exec(rest)?.[1] ?? 'image';
    this.#stage = { root: join(this.#folder, name), workdir: '/', env: {} };
    this.#stages.set(name, this.#stage);
  }

  #copy(rest: string): void {
    const words = rest.split(/\s+/);
    const from = /^--from=(.+)$/.exec(words[0] ?? '')?.[1];
    const target = words.at(-1) ?? '';
    for (const path of words.slice(from === undefined ? 0 : 1, -1)) {
      const source = from === undefined ? join(ROOT, path) : this.#inStage(from, path);
      const isInto = target.endsWith('/') && !statSync(source).isDirectory();
      const place = this.path(isInto ? join(target, basename(path)) : target);
      if (from === undefined) cpSync(source, place, { recursive: true, filter: isInContext });
      else linkTree(source, place);
      if (!existsSync(place)) throw new Error(`COPY ${rest}: the ignore file leaves nothing of ${path}`);
    }
  }

  #inStage(name: string, path: string): string {
    const stage = this.#stages.get(name);
    if (stage === undefined) throw new Error(`COPY --from=${name}: there is no such stage`);
    return join(stage.root, resolve(stage.workdir, path));
  }

  async #runStep(rest: string): Promise<void> {
    mkdirSync(this.cwd, { recursive: true });
    const here = this.#mapped(rest).replaceAll(/-[og] node /g, '');
    const env = {
      ...this.env,
      PATH_OF_NPM: process.env['PATH'],
      npm_config_cache: join(this.#folder, 'cache'),
    };
    await promisify(execFile)('/bin/sh', ['-c', here], { cwd: this.cwd, env });
  }

  /** A path of the image, on this machine. */
  path(path: string): string {
    return join(this.#stage.root, resolve(this.#stage.workdir, path));
  }

  get cwd(): string {
    return this.path('.');
  }

  /** The environment of everything that runs in it. Nothing comes from the test. */
  get env(): Record<string, string> {
    const own = Object.entries(this.#stage.env).map(([name, value]) => [name, this.#mapped(value)]);
    return { ...Object.fromEntries(own), PATH: `${this.#tools}:/usr/bin:/bin` };
  }

  #mapped(text: string): string {
    return text.replaceAll(/(?<=^|\s)\/(?=\w)/g, `${this.#stage.root}/`);
  }

  async stop(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
