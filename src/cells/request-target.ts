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

export function targetOf({ url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>): RequestTarget {
  const [, id] = PROJECT.exec(url) ?? [];
  if (id !== undefined) return { kind: 'project', id: decoded(id) };
  const [, mask] = INGEST.exec(url) ?? [];
  if (mask !== undefined) return { kind: 'mask', value: decoded(mask) };
  if (PROCESS.test(url)) return { kind: 'process' };
  const credential = OF_CALLER.test(url) ? credentialOf(headers.authorization) : undefined;
  if (credential !== undefined) return { kind: 'credential', value: credential };
  const project = new URLSearchParams(PORTAL_PAGE.exec(url)?.[1]).get('project');
  if (project !== null) return { kind: 'project', id: project };
  return { kind: HOME.test(url) ? 'home' : 'any' };
}

/** A part of a path that is not well formed names nothing. The cell refuses it. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function credentialOf(header: string | undefined): string | undefined {
  const credential = header?.trim().replace(/^bearer(\s+|$)/i, '') ?? '';
  return credential === '' || /\s/.test(credential) ? undefined : credential;
}
