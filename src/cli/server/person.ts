import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import { line } from '../terminal/output.ts';
import { callApi, required } from './call-api.ts';

type Values = Record<string, string | undefined>;

interface WithLink {
  person: { email: string };
  link: string | null;
}

/** Prints the invitation alone, so that a script can take it. */
export async function createPersonCommand(config: Config, values: Values): Promise<void> {
  const email = required(values, 'email');
  const { project, role = 'admin' } = values;
  const name = values['name'] ?? '';
  if (project === undefined && role !== 'admin')
    throw new StartupError(`--role ${role} needs --project; without it the person administers the instance`);
  const { link } = (await (project === undefined
    ? callApi(config, '/api/v1/people', { email, name })
    : callApi(config, `/api/v1/projects/${encodeURIComponent(project)}/people`, {
        email,
        name,
        role,
      }))) as WithLink;
  line(link ?? `${email} has an account already and can use it.`);
}

export async function resetPersonCommand(config: Config, values: Values): Promise<void> {
  const body = {
    email: required(values, 'email'),
    purpose: 'reset',
    remove_second_factor: values['second-factor'] === 'true',
  };
  const { link } = (await callApi(config, '/api/v1/sign-in-links', body)) as WithLink;
  line(link ?? '');
}

export async function signInLinkCommand(config: Config, values: Values): Promise<void> {
  line(await makeSignInLink(config, values));
}

/** A link that signs a person in once, within 15 minutes. Without an address: an administrator of the instance. */
export async function makeSignInLink(config: Config, values: Values = {}): Promise<string> {
  const { email } = values;
  const body = {
    purpose: 'sign_in',
    ...(email !== undefined && { email }),
    remove_second_factor: values['second-factor'] === 'true',
  };
  const { link } = (await callApi(config, '/api/v1/sign-in-links', body)) as WithLink;
  return link ?? '';
}
