/**
 * A PostgreSQL URL that may name several servers, as libpq takes it:
 * `postgres://user:password@one:5432,two:5433/database?target_session_attrs=read-write`, or with `host` and `port` as
 * parameters. The driver reads a URL of one server only, so this makes one of each.
 */
export interface PostgresServer {
  /** Host and port, for messages. */
  name: string;
  url: string;
}

export interface PostgresUrl {
  servers: PostgresServer[];
  /** `target_session_attrs`. Empty: not given. */
  target: string;
}

const PARTS = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/;
const TARGETS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'];
const DEFAULT_PORT = '5432';

/** The servers, or what is expected instead. It names no password. */
export function readPostgresUrl(text: string): PostgresUrl | string {
  const [, scheme, user, authority = '', path = '', query = ''] = PARTS.exec(text) ?? [];
  if (scheme === undefined) return 'a URL starting with postgres:// or postgresql://';
  const parameters = new URLSearchParams(query);
  const target = taken(parameters, 'target_session_attrs');
  if (target !== '' && !TARGETS.includes(target))
    return `target_session_attrs to be one of ${TARGETS.join(', ')}`;
  const places = placesOf(authority, taken(parameters, 'host'), taken(parameters, 'port'));
  if (typeof places === 'string') return places;
  const servers = places.map(({ host, port }) => {
    const isSocket = host.startsWith('/');
    const own = new URLSearchParams(parameters);
    if (isSocket) own.set('host', host);
    const address = `${isSocket ? 'localhost' : host}${port === '' ? '' : `:${port}`}`;
    const login = user === undefined ? '' : `${user}@`;
    const rest = own.size === 0 ? '' : `?${own.toString()}`;
    return { name: nameOf(host, port), url: `${scheme}${login}${address}${path}${rest}` };
  });
  const bad = servers.find(({ url }) => !URL.canParse(url));
  return bad === undefined
    ? { servers, target }
    : 'hosts and ports that can be read (a character such as / in a password is written as %2F)';
}

/** The driver takes these for `verify-full`, with a warning. */
const VERIFIED: ReadonlySet<string> = new Set(['prefer', 'require', 'verify-ca']);

/** The URL for the driver. A server's certificate is checked against `caFile`, if that is given and the URL names no other. */
export function driverUrl(text: string, caFile: string): string {
  const [address = '', query = ''] = text.split('?', 2);
  const parameters = new URLSearchParams(query);
  const mode = parameters.get('sslmode') ?? '';
  const isAlias = VERIFIED.has(mode) && parameters.get('uselibpqcompat') !== 'true';
  if (isAlias) parameters.set('sslmode', 'verify-full');
  const needsAuthority = caFile !== '' && mode !== 'disable' && !parameters.has('sslrootcert');
  if (needsAuthority) parameters.set('sslrootcert', caFile);
  return isAlias || needsAuthority ? `${address}?${parameters.toString()}` : text;
}

interface Place {
  host: string;
  port: string;
}

/** The parameters win over the authority, as with libpq. One port is that of every host. */
function placesOf(authority: string, hosts: string, ports: string): Place[] | string {
  const named = authority.split(',').map((one): Place => {
    const [, host = one, port = ''] = /^(.*?)(?::(\d*))?$/.exec(one) ?? [];
    return one.endsWith(']') ? { host: one, port: '' } : { host, port };
  });
  const names = hosts === '' ? named.map(({ host }) => host) : hosts.split(',');
  const numbers = ports === '' ? named.map(({ port }) => port) : ports.split(',');
  if (numbers.length !== 1 && numbers.length !== names.length) return 'one port, or as many ports as hosts';
  if (names.length > 1 && names.includes('')) return 'a name for each host';
  return names.map((host, n) => ({ host, port: numbers[numbers.length === 1 ? 0 : n] ?? '' }));
}

function nameOf(host: string, port: string): string {
  const number = port === '' ? DEFAULT_PORT : port;
  return `${host === '' ? 'localhost' : host}:${number}`;
}

function taken(parameters: URLSearchParams, name: string): string {
  const value = parameters.get(name) ?? '';
  parameters.delete(name);
  return value;
}
