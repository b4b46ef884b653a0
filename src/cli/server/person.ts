import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import type { Given } from '../terminal/command.ts';
import { line } from '../terminal/output.ts';
import { callApi, projectPath } from './call-api.ts';

interface WithLink {
  person: { email: string };
  link: string | null;
}

/** Prints the invitation alone, so that a script can take it. */
export async function createPersonCommand(config: Config, given: Given): Promise<void> {
  const email = given.required('email');
  const project = given.text('project');
  const role = given.text('role') ?? 'admin';
  const name = given.text('name') ?? '';
  if (project === undefined && role !== 'admin')
    throw new StartupError(`--role ${role} needs --project; without it the person administers the instance`);
  const { link } = (await (project === undefined
    ? callApi(config, '/api/v1/people', { email, name })
    : callApi(config, `${await projectPath(config, project)}/people`, { email, name, role }))) as WithLink;
  line(link ?? `${email} has an account already and can use it.`);
}

export const resetPersonCommand = async (config: Config, given: Given): Promise<void> =>
  line(await makeLink(config, 'reset', { email: given.required('email'), ...linkOptions(given) }));

export const signInLinkCommand = async (config: Config, given: Given): Promise<void> =>
  line(await makeLink(config, 'sign_in', { ...given.fields({ email: 'email' }), ...linkOptions(given) }));

const linkOptions = (given: Given) => ({ remove_second_factor: given.has('second-factor') });

/**
 * A link that signs a person in once, within 15 minutes, or with which a password is chosen. Without an address it is for an
 * administrator of the instance.
 */
export async function makeLink(
  config: Config,
  purpose: 'sign_in' | 'reset',
  options: { email?: string; remove_second_factor: boolean },
): Promise<string> {
  const { link } = (await callApi(config, '/api/v1/sign-in-links', { purpose, ...options })) as WithLink;
  return link ?? '';
}
