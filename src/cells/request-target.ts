import type { IncomingMessage } from 'node:http';
import type { Sign } from './directory.ts';

/** The part of the service that a request is about, as far as its head shows. */
export type RequestTarget =
  | { kind: 'project'; id: string }
  | Sign
  /** Health and metrics of the process. */
  | { kind: 'process' }
  /** People, the instance key, and everything over all projects. */
  | { kind: 'home' }
  /** Pages and documents: every cell has the same. */
  | { kind: 'any' };

const PROJECT = /^\/api\/v1\/projects\/([^/?#]+)/;
const INGEST = /^\/ingest\/([^/?#]+)/;
const PROCESS = /^\/(?:healthz|health|readyz|metrics)\/?(?:\?|$)/;
const HOME = /^\/(?:api|auth)\//;
/** Paths whose project is that of the caller. */
const OF_CALLER = /^\/(?:api|portal-api|mcp)(?:[/?]|$)/;
const PORTAL_PAGE = /^\/portal\/?\?(.*)$/;

export function targetOf(request: Pick<IncomingMessage, 'url' | 'headers'>): RequestTarget {
  const { headers } = request;
  const url = asRouted(request.url ?? '/');
  const [, id] = PROJECT.exec(url) ?? [];
  if (id !== undefined) return { kind: 'project', id };
  const [, mask] = INGEST.exec(url) ?? [];
  if (mask !== undefined) return { kind: 'mask', value: mask };
  if (PROCESS.test(url)) return { kind: 'process' };
  const credential = OF_CALLER.test(url) ? credentialOf(headers.authorization) : undefined;
  if (credential !== undefined) return { kind: 'credential', value: credential };
  const project = new URLSearchParams(PORTAL_PAGE.exec(url)?.[1]).get('project');
  if (project !== null) return { kind: 'project', id: project };
  return { kind: HOME.test(url) ? 'home' : 'any' };
}

/** The path as the router of a cell reads it: without an origin, decoded. One that is not well formed it refuses. */
function asRouted(url: string): string {
  const [path = '', ...query] = url.replace(/^[a-z]+:\/\/[^/?#]*/i, '').split('?');
  const rest = query.length === 0 ? '' : `?${query.join('?')}`;
  try {
    return `${decodeURIComponent(path)}${rest}`;
  } catch {
    return `${path}${rest}`;
  }
}

function credentialOf(header: string | undefined): string | undefined {
  const credential = header?.trim().replace(/^bearer(\s+|$)/i, '') ?? '';
  return credential === '' || /\s/.test(credential) ? undefined : credential;
}
