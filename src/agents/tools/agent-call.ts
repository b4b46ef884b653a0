import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../../api/http/access/caller.ts';
import { AppError } from '../../domain/errors.ts';
import { asId, isId, type ProjectId } from '../../domain/ids.ts';
import { queryValue } from '../../domain/pagination.ts';
import { OwnApi } from './project-api.ts';

/** A request of a caller who is known, in its project. */
export interface AgentCall {
  request: FastifyRequest;
  caller: Exclude<Caller, { kind: 'person' }>;
  projectId: ProjectId;
  /** The customer it subscribes for: that of its portal link, or the one that the address names. Empty: none. */
  ownerId: string;
  /** Calls the API as this caller. `via`: the name in the audit log. */
  api(via: string): OwnApi;
}

const MAX_OWNER = 256;

/** The project of a key or portal link is its own. The instance key names one in the address. */
export function agentCall(app: FastifyInstance, request: FastifyRequest): AgentCall {
  const { caller } = request;
  // A session is a cookie, which a browser adds by itself.
  if (caller === undefined || caller.kind === 'person') throw new AppError('unauthenticated');
  const query = request.query as Record<string, string>;
  const own = caller.kind === 'instance' ? undefined : caller.projectId;
  const projectId = queryValue(query, 'project_id') ?? own;
  if (projectId === undefined) throw new AppError('project_required');
  if (own !== undefined && own !== projectId) throw new AppError('project_forbidden', { project: projectId });
  if (!isId(projectId)) throw new AppError('project_not_found', { id: projectId });
  const named = (queryValue(query, 'owner_id') ?? '').slice(0, MAX_OWNER);
  return {
    request,
    caller,
    projectId: asId(projectId),
    ownerId: caller.kind === 'portal' ? caller.ownerId : named,
    api: (via) => new OwnApi(app, request, { projectId, via: `mcp/${via}` }),
  };
}
