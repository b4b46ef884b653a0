import { readFile } from 'node:fs/promises';
import type { AccessKey } from '../module/workload.ts';
import type { Question } from './ask-server.ts';
import type { Lasting } from './renewed.ts';

/**
 * The credentials of this machine at Amazon, looked for as its own libraries do: a role for the token in a file (pods), the
 * server of a container, the metadata service of an instance (version 2). The first that the environment names is used.
 */
type Env = Readonly<Record<string, string | undefined>>;
type Ask = (question: Question) => Promise<string>;

const METADATA = 'http://169.254.169.254';
const CONTAINER = 'http://169.254.170.2';
const TOKEN_SECONDS = 21_600;
/** If the server does not say when a key ends. */
const USUAL_MS = 900_000;

export async function awsCredentials(env: Env, ask: Ask): Promise<Lasting<AccessKey>> {
  if (env['AWS_WEB_IDENTITY_TOKEN_FILE'] && env['AWS_ROLE_ARN']) return ofWebIdentity(env, ask);
  const container =
    env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] ??
    (env['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'] &&
      CONTAINER + env['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI']);
  return container ? ofContainer(container, env, ask) : ofInstance(env, ask);
}

async function ofWebIdentity(env: Env, ask: Ask): Promise<Lasting<AccessKey>> {
  const token = (await readFile(env['AWS_WEB_IDENTITY_TOKEN_FILE'] ?? '', 'utf8')).trim();
  const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'];
  const domain = region?.startsWith('cn-') === true ? 'amazonaws.com.cn' : 'amazonaws.com';
  const url =
    env['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${region === undefined ? '' : `${region}.`}${domain}`;
  const form = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: env['AWS_ROLE_ARN'] ?? '',
    RoleSessionName: env['AWS_ROLE_SESSION_NAME'] ?? 'posthorn',
    WebIdentityToken: token,
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const xml = await ask({ url, method: 'POST', headers, body: form.toString() });
  const part = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]?.trim();
  return lasting({
    AccessKeyId: part('AccessKeyId'),
    SecretAccessKey: part('SecretAccessKey'),
    Token: part('SessionToken'),
    Expiration: part('Expiration'),
  });
}

async function ofContainer(url: string, env: Env, ask: Ask): Promise<Lasting<AccessKey>> {
  const file = env['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'];
  const token = file ? (await readFile(file, 'utf8')).trim() : env['AWS_CONTAINER_AUTHORIZATION_TOKEN'];
  return lasting(JSON.parse(await ask({ url, headers: token ? { authorization: token } : {} })) as Given);
}

async function ofInstance(env: Env, ask: Ask): Promise<Lasting<AccessKey>> {
  const base = (env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] ?? METADATA).replace(/\/+$/, '');
  const token = await ask({
    url: `${base}/latest/api/token`,
    method: 'PUT',
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': String(TOKEN_SECONDS) },
  });
  const headers = { 'x-aws-ec2-metadata-token': token };
  const roles = `${base}/latest/meta-data/iam/security-credentials/`;
  const role = (await ask({ url: roles, headers })).split('\n')[0]?.trim() ?? '';
  return lasting(JSON.parse(await ask({ url: roles + encodeURIComponent(role), headers })) as Given);
}

interface Given {
  AccessKeyId?: string | undefined;
  SecretAccessKey?: string | undefined;
  Token?: string | undefined;
  Expiration?: string | undefined;
}

function lasting({
  AccessKeyId: id,
  SecretAccessKey: secret,
  Token: token,
  Expiration,
}: Given): Lasting<AccessKey> {
  if (!id || !secret) throw new Error('the answer has no key');
  const endsAt = Date.parse(Expiration ?? '');
  const expiresAtMs = Number.isNaN(endsAt) ? Date.now() + USUAL_MS : endsAt;
  return { value: { id, secret, token: token ?? null, expiresAtMs }, expiresAtMs };
}
