import type { FastifyInstance } from 'fastify';
import { deleteDevice } from '../../control/device-changes.ts';
import { parsePageRequest } from '../../domain/pagination.ts';
import { Type } from '../../platform/type.ts';
import { listDevices } from '../../store/config/devices.ts';
import { Device, toDevice } from '../endpoints/device-schema.ts';
import type { ApiContext } from '../http/context.ts';
import { mapPage, Nothing, PageOf, pageQuery } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

const path = '/api/v1/projects/:projectID/devices';
const route = operationsOf('Devices');

/** Programs that listen to a project. They are made by listening (listen.ts). */
export function registerDevices(app: FastifyInstance, { db, changes, now }: ApiContext): void {
  route.get(app, path, {
    id: 'listDevices',
    summary: 'List the devices that listen to a project, or did in the last 30 days.',
    query: Type.Object(pageQuery),
    message: 'Devices fetched',
    data: PageOf(Device),
    access: 'developer',
    handle: async ({ project, query }) => {
      const page = await db.reading(project.id, (tx) => listDevices(tx, project.id, parsePageRequest(query)));
      return mapPage(page, (row) => toDevice(row, now()));
    },
  });
  route.delete(app, `${path}/:deviceID`, {
    id: 'deleteDevice',
    summary: 'Delete a device and its subscription. Its connections are closed.',
    message: 'Device deleted',
    data: Nothing,
    access: 'developer',
    handle: ({ by, params }) => deleteDevice(changes, { ...by, id: params.deviceID }),
  });
}
