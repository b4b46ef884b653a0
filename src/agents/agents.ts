import type { FastifyInstance } from 'fastify';
import type { ApiContext } from '../api/http/context.ts';
import { registerMcp } from './mcp-endpoint.ts';

/** The routes of this room, if the instance wants them. */
export function agentsOf({
  mcp,
}: {
  mcp: 'on' | 'off';
  mcpSubscriptions: number;
}): ((app: FastifyInstance, context: ApiContext) => void)[] {
  if (mcp === 'off') return [];
  return [(app, context) => registerMcp(app, context, {})];
}
