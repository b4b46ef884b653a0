import type { FastifyInstance } from 'fastify';
import { deleteDevice } from '../../control/device-changes.ts';
import { type DeviceRow, listDevices } from '../../store/config/devices.ts';
import { Device, toDevice } from '../endpoints/device-schema.ts';
import type { ChangeContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';

/** Programs that listen to a project. They are made by listening (listen.ts). */
export function registerDevices(app: FastifyInstance, { db, changes, now }: ChangeContext): void {
  const device = crud(app, db, {
    tag: 'Devices',
    noun: 'device',
    path: '/api/v1/projects/:projectID/devices',
    param: 'deviceID',
    data: Device,
    access: { read: 'developer', change: 'developer' },
    view: () => (row: DeviceRow) => toDevice(row, now()),
  });
  device.pages({
    summary: 'List the devices that listen to a project, or did in the last 30 days.',
    read: (tx, projectId, { page }) => listDevices(tx, projectId, page),
  });
  device.remove({
    summary: 'Delete a device and its subscription. Its connections are closed.',
    make: ({ by, params }) => deleteDevice(changes, { ...by, id: params.deviceID }),
  });
}
