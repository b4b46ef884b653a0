/**
 * A shell command that sets `key` to a key of a project, from the file that the first start wrote into its folder. That of the
 * first project opens no other one, so other projects take the instance key.
 */
export const keyCommand = (project: string): string =>
  `key=$(node -p "c = require('./.posthorn/credentials.json'), c.project_id === '${project}' ? c.api_key : c.instance_key")`;
