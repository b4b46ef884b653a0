import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Document } from '../../../scripts/client-operations.ts';
import type { Role } from '../../../src/domain/role.ts';

/** The operations of openapi.json. */
export interface Operation {
  id: string;
  /** The id without the endings of its second verb and of its path in the portal. */
  caseId: string;
  name: string;
  method: string;
  path: string;
  access: Role | 'any' | 'instance' | 'session' | 'public';
  isPortal: boolean;
  /** The status of the plain call. */
  status: number;
}

export const PROJECT = '/api/v1/projects/{projectID}';
export const PORTAL = '/portal-api';

export const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../openapi.json'), 'utf8'),
) as Document;

export const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    id: operation.operationId,
    caseId: operation.operationId.replace(/(ByPost)?(InPortal)?$/, ''),
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    access: operation['x-access'] as Operation['access'],
    isPortal: path.startsWith(PORTAL),
    // A dry run has a status of its own, which comes first.
    status: Number(Object.keys(operation.responses).findLast((status) => status !== 'default')),
  })),
);

/** The path with these ids in it; `none` stands for all others. */
export const pathWith = ({ path }: Pick<Operation, 'path'>, ids: Record<string, string>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'none');
