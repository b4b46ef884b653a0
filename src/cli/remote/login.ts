import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { StartupError, usageError } from '../../platform/startup-error.ts';
import type { Given } from '../terminal/command.ts';
import { line } from '../terminal/output.ts';
import { namedProject } from '../terminal/pick-one.ts';
import { readProfiles, saveProfiles } from '../terminal/profiles.ts';
import { terminal } from '../terminal/terminal.ts';
import { clientOf, explained } from './connect.ts';

/** Checks a key and saves it as a profile, which commands use from then on. */
export async function login(given: Given): Promise<void> {
  const url = given.text('url') ?? (given.env['POSTHORN_URL'] || 'http://127.0.0.1:5005');
  const key = given.env['POSTHORN_API_KEY'] || (await askForKey(url));
  if (key === '') throw usageError('no key was given; type it, pipe it in, or set POSTHORN_API_KEY');
  const connection = { url, key, project: undefined };
  const projects = await explained(connection, () => clientOf(connection).projects.list());
  const wanted = given.text('project') ?? (given.env['POSTHORN_PROJECT'] || undefined);
  const only = projects.length === 1 ? projects[0] : undefined;
  const project = wanted === undefined ? only : namedProject(wanted, projects);
  const name = given.text('profile') ?? 'default';
  const { profiles } = await readProfiles(given.env);
  const profile = { url, api_key: key, ...(project !== undefined && { project: project.uid }) };
  const file = await saveProfiles(given.env, { current: name, profiles: { ...profiles, [name]: profile } });
  const scope =
    project === undefined
      ? `It opens ${projects.length} projects: name one with --project.`
      : `It opens the project ${project.name} (${project.uid}).`;
  line(`The key was accepted. ${scope}`);
  line(`Saved as profile ${name} in ${file}.`);
}

export async function logout(given: Given): Promise<void> {
  const { current, profiles } = await readProfiles(given.env);
  const name = given.text('profile') ?? current;
  if (!Object.hasOwn(profiles, name)) throw new StartupError('there is no such profile; nothing was changed');
  const { [name]: _removed, ...rest } = profiles;
  const file = await saveProfiles(given.env, {
    current: name === current ? (Object.keys(rest)[0] ?? '') : current,
    profiles: rest,
  });
  line(`Removed the profile ${name} from ${file}. The key itself still works: revoke it in the dashboard.`);
}

/** The key is not shown while it is typed. */
async function askForKey(url: string): Promise<string> {
  const { stdin, stderr } = terminal();
  if (!stdin.isTTY) return (await text(stdin)).trim();
  stderr.write(`Key for ${url}: `);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const asked = createInterface({ input: stdin, output: silent, terminal: true });
  try {
    return (await asked.question('')).trim();
  } finally {
    asked.close();
    stderr.write('\n');
  }
}
