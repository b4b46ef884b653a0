import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * The files that real brokers need to run, fetched once per machine and version into a directory outside of the clone
 * (BROKER_CACHE_DIR, by default in the user's cache directory). A fetch goes into a directory of its own, which is
 * renamed when it is complete, so two runs at once and a fetch that was killed do no harm.
 */
const run = promisify(execFile);

const cacheDir = (): string =>
  process.env['BROKER_CACHE_DIR'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'posthorn-test-brokers');

/** A program that a broker needs is not on this machine. */
export class MissingProgram extends Error {}

export async function requireProgram(program: string, ...args: string[]): Promise<void> {
  try {
    await run(program, args);
  } catch (error) {
    throw new MissingProgram(`${program} cannot be run: ${(error as Error).message}`);
  }
}

/** The directory with that name, made by `fetch` where it does not exist yet. `home`: where it will be in the end. */
export async function cached(
  name: string,
  fetch: (into: string, home: string) => Promise<void>,
): Promise<string> {
  const wanted = join(cacheDir(), name);
  if (existsSync(wanted)) return wanted;
  await mkdir(cacheDir(), { recursive: true });
  const partial = await mkdtemp(join(cacheDir(), `${name}.partial-`));
  try {
    await fetch(partial, wanted);
    await rename(partial, wanted).catch((error: unknown) => {
      // Another run was faster.
      if (!existsSync(wanted)) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return wanted;
}

/** A directory with the jar `group:artifact:version` and all that it needs. */
export async function mavenJars(coordinates: string): Promise<string> {
  const [group, artifact, version] = coordinates.split(':');
  await requireProgram('java', '-version');
  return cached(`${artifact}-${version}`, async (into) => {
    await requireProgram('mvn', '-version');
    const work = await mkdtemp(join(cacheDir(), 'maven-'));
    const dependency = `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
    await writeFile(
      join(work, 'pom.xml'),
      `<project><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId><version>1</version>
       <dependencies>${dependency}</dependencies></project>`,
    );
    try {
      const args = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${into}`];
      await run('mvn', [...args, '-DincludeScope=runtime'], { cwd: work });
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  });
}
