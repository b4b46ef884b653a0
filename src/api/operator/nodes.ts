import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { Type } from '../../platform/type.ts';
import { SILENT_SECONDS } from '../../store/database/node-lease.ts';
import { knownNodes, type NodeRow } from '../../store/queue/nodes.ts';
import { overCells } from '../http/access/over-cells.ts';
import type { ReadContext } from '../http/context.ts';
import { iso, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

export const Node = Type.Object({
  uid: Type.String(),
  roles: Type.Array(Type.String()),
  is_alive: Type.Boolean({ description: `Whether it was seen in the last ${SILENT_SECONDS} s.` }),
  started_at: Time,
  last_seen_at: Time,
  schema: Type.String({ description: 'The number of the newest migration that it knows.' }),
  cell: Type.String({ description: 'The cell that it works for. Empty: there are no cells.' }),
});

/** The nodes of the instance. A silent one is listed for a minute. */
export function registerNodes(app: FastifyInstance, context: ReadContext): void {
  operationsOf('Nodes').get(app, '/api/v1/nodes', {
    id: 'listNodes',
    summary: 'List the nodes of the instance.',
    message: 'Nodes fetched',
    data: Type.Array(Node),
    access: 'instance',
    handle: (_call, request) =>
      overCells(context, request, async ({ db, name }) =>
        (await knownNodes(db)).map((row) => toNode(row, name)),
      ),
  });
}

function toNode(row: NodeRow, cell: string): Static<typeof Node> {
  return {
    uid: row.id,
    roles: row.roles.split(',').filter(Boolean),
    is_alive: row.silent_seconds < SILENT_SECONDS,
    started_at: iso(row.started_at),
    last_seen_at: iso(row.beat_at),
    schema: row.knows,
    cell,
  };
}
