/**
 * The address of a PostgreSQL database of a customer. It is read here and not by the driver: in a URL the driver also
 * takes paths of sockets and of files of this machine, and what a URL leaves out it takes from our environment.
 */
export interface DatabaseAddress {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** With a certificate that is checked. */
  isSecure: boolean;
}

const DEFAULT_PORT = 5432;
const HOST = /^[\w.:-]+$/;
const SECURE_MODES = ['require', 'verify-ca', 'verify-full'];

/** The address, or what is wrong with the text. */
export function parseDatabaseUrl(text: string): DatabaseAddress | string {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol))
    return 'must be a URL such as postgres://user:password@host:5432/database';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (host === '') return 'must name a host; sockets are not allowed';
  if (!HOST.test(host)) return 'must name one host';
  const [user, password, database] = [url.username, url.password, url.pathname.slice(1)].map(decoded);
  if (user === undefined || password === undefined || database === undefined)
    return 'has a part that is not percent-encoded correctly';
  if (user === '') return 'must name a user';
  if (database === '' || database.includes('/')) return 'must name a database';
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'sslmode');
  if (unknown !== undefined) return `has the parameter ${unknown.slice(0, 50)}; only sslmode is allowed`;
  const mode = url.searchParams.get('sslmode') ?? 'disable';
  if (mode !== 'disable' && !SECURE_MODES.includes(mode))
    return `has an sslmode that is none of disable, ${SECURE_MODES.join(', ')}`;
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  return { host, port, user, password, database, isSecure: mode !== 'disable' };
}

/** A zero byte would end the text in the protocol, and begin another one. */
function decoded(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
