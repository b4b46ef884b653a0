import type { Config } from '../../settings/settings.ts';
import { printJson } from '../terminal/output.ts';
import { callApi, required } from './call-api.ts';

export async function createProjectCommand(
  config: Config,
  values: Record<string, string | undefined>,
): Promise<void> {
  const body = { name: required(values, 'name'), type: values['type'] ?? 'outgoing' };
  printJson(await callApi(config, '/api/v1/projects', body), 2);
}

export async function createKeyCommand(
  config: Config,
  values: Record<string, string | undefined>,
): Promise<void> {
  const project = encodeURIComponent(required(values, 'project'));
  const body = { name: required(values, 'name'), expires_at: values['expires-at'] ?? null };
  printJson(await callApi(config, `/api/v1/projects/${project}/keys`, body), 2);
}
