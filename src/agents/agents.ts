import type { FastifyInstance } from 'fastify';
import type { ApiContext } from '../api/http/context.ts';
import { eventMethods } from './events/mcp-events.ts';
import { registerMcp } from './mcp-endpoint.ts';

interface Settings {
  mcp: 'on' | 'off';
  /** Live subscriptions of an owner. */
  mcpSubscriptions: number;
}

type Register = (app: FastifyInstance, context: ApiContext) => void;

/** The routes of this room, if the instance wants them. */
export function agentsOf(config: Settings): Register[] {
  if (config.mcp === 'off') return [];
  return [(app, context) => registerMcp(app, context, eventMethods(context, config.mcpSubscriptions))];
}
