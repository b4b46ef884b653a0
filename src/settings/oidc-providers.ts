import { isLoopbackHost } from '../platform/loopback.ts';
import { Secret } from '../platform/secret.ts';
import { BadValue, type Parser } from './parsers.ts';

/** The providers of POSTHORN_OIDC_PROVIDERS. docs/people.md describes the fields. */
const ROLES = ['viewer', 'developer', 'admin'] as const;
type Role = (typeof ROLES)[number];

interface Rule {
  group: string;
  gives: { projectId: string; role: Role } | 'instance';
}

export interface ProviderSetting {
  name: string;
  title: string;
  issuer: string;
  clientId: string;
  clientSecret: Secret<string> | null;
  domains: string[];
  createsAccounts: boolean;
  scopes: string;
  groupsClaim: string;
  groups: Rule[];
  hasSecondFactor: boolean;
}

const FIELDS = new Set([
  'name',
  'title',
  'issuer',
  'client_id',
  'client_secret',
  'domains',
  'create_accounts',
  'scopes',
  'groups_claim',
  'groups',
  'second_factor',
]);

const ALLOWED = 'a JSON array of providers';

export const readProviders: Parser<ProviderSetting[]> = Object.assign(readList, { allowed: ALLOWED });

function readList(value: string): ProviderSetting[] {
  const list = parse(value);
  if (!Array.isArray(list)) throw new BadValue(ALLOWED);
  const providers = list.map(readProvider);
  if (new Set(providers.map(({ name }) => name)).size < providers.length)
    throw new BadValue('providers with different names');
  return providers;
}

/** The text may have secrets, so the parser's own message is not shown. */
function parse(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw new BadValue(ALLOWED);
  }
}

function readProvider(given: unknown): ProviderSetting {
  if (typeof given !== 'object' || given === null) throw new BadValue('an object for each provider');
  const fields = given as Record<string, unknown>;
  const unknown = Object.keys(fields).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) throw new BadValue(`providers without a field "${unknown}"; see docs/people.md`);
  const name = text(fields, 'name');
  if (!/^[a-z0-9-]{1,32}$/.test(name) || name === 'password' || name === 'link')
    throw new BadValue('a name of lower case letters, digits and hyphens for each provider');
  const secret = text(fields, 'client_secret', '');
  return {
    name,
    title: text(fields, 'title', name),
    issuer: readIssuer(text(fields, 'issuer')),
    clientId: text(fields, 'client_id'),
    clientSecret: secret === '' ? null : new Secret(secret),
    domains: texts(fields, 'domains').map((domain) => domain.toLowerCase()),
    createsAccounts: flag(fields, 'create_accounts'),
    scopes: text(fields, 'scopes', 'openid email profile'),
    groupsClaim: text(fields, 'groups_claim', 'groups'),
    groups: readRules(fields['groups'] ?? []),
    hasSecondFactor: flag(fields, 'second_factor'),
  };
}

/** Without TLS the answers could be anyone's. Loopback is for trials. */
function readIssuer(issuer: string): string {
  const url = URL.parse(issuer);
  if (url?.protocol === 'https:') return issuer;
  if (url?.protocol === 'http:' && isLoopbackHost(url.hostname)) return issuer;
  throw new BadValue('an issuer starting with https:// for each provider');
}

function readRules(given: unknown): Rule[] {
  if (!Array.isArray(given)) throw new BadValue('a list of groups');
  return given.map((item: unknown) => {
    const rule = (item ?? {}) as Record<string, unknown>;
    const group = text(rule, 'group');
    if (rule['instance_admin'] === true) return { group, gives: 'instance' };
    const role = ROLES.find((one) => one === rule['role']);
    if (role === undefined)
      throw new BadValue(`a role (${ROLES.join(', ')}) or instance_admin for group ${group}`);
    return { group, gives: { projectId: text(rule, 'project'), role } };
  });
}

function text(fields: Record<string, unknown>, name: string, fallback?: string): string {
  const value = fields[name] ?? fallback;
  if (typeof value !== 'string' || (value === '' && fallback === undefined))
    throw new BadValue(`a text as ${name} of each provider`);
  return value;
}

function texts(fields: Record<string, unknown>, name: string): string[] {
  const value = fields[name] ?? [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    throw new BadValue(`a list of texts as ${name} of each provider`);
  return value;
}

function flag(fields: Record<string, unknown>, name: string): boolean {
  const value = fields[name] ?? false;
  if (typeof value !== 'boolean') throw new BadValue(`true or false as ${name} of each provider`);
  return value;
}
