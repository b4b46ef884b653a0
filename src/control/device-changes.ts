import { changeOf } from '../domain/audit.ts';
import type { FilterConditions } from '../domain/config/subscription.ts';
import { AppError, found } from '../domain/errors.ts';
import type { EndpointId, ProjectId, SourceId } from '../domain/ids.ts';
import {
  deleteDeviceRows,
  deleteForgotten,
  disableUnseen,
  lockDevice,
  makeRoomForDevice,
  saveDevice,
} from '../store/changes/device-writes.ts';
import { type DeviceRow, DISABLED_AFTER_SECONDS, devicesByIds } from '../store/config/devices.ts';
import { subscriptions } from '../store/config/subscriptions.ts';
import type { Author, ConfigChange, ConfigChanges } from './config-changes.ts';
import { newEndpoint } from './new-endpoint.ts';
import { newSubscription } from './subscription-changes.ts';

/** The wishes of a program that begins to listen. */
export interface ListenRequest {
  projectId: ProjectId;
  hostName: string;
  /** The key or person that it connects as. */
  callerId: string;
  eventTypes: string[];
  sourceId: SourceId | '';
  filter: FilterConditions;
}

export interface ConnectedDevice {
  device: DeviceRow;
  subscriptionId: string;
  /** The secret that signs its deliveries. */
  secret: string;
}

/** A device that vanished with a delivery gets it again, some times. */
const RETRIES = { type: 'linear', duration: 1, retry_count: 4 } as const;
/** Devices are kept for 30 days. A new one takes the place of one that was switched off. */
const MAX_DEVICES = { ofCaller: 100, ofProject: 500 };

/** Finds or makes the device, and makes its subscription as asked for. */
export function connectDevice(changes: ConfigChanges, request: ListenRequest): Promise<ConnectedDevice> {
  const { endpoints, sources, ids } = changes.deps;
  const { projectId, hostName, callerId, sourceId } = request;
  return changes.changeStateInTurn(projectId, async (change) => {
    if (sourceId !== '' && (await sources.get(change, projectId, sourceId)) === undefined)
      throw new AppError('not_in_project', { field: 'source_id', resource: 'source', id: sourceId });
    const known = await lockDevice(change, { hostName, callerId });
    if (known === undefined) await requireRoom(changes, change, callerId);
    const id = known?.id ?? ids.next<EndpointId>();
    const stored = await endpoints.ofDevice(change, projectId, id);
    const made = newEndpoint(changes.deps, { id, name: hostName, url: '' });
    const secret = stored?.secret ?? made.secret;
    const before = known && (await subscriptions.get(change, projectId, known.subscription_id));
    const saved = await saveDevice(change, endpoints, {
      id,
      hostName,
      callerId,
      endpoint: { ...made, delivery: 'device', secret },
      subscription: {
        id: before?.id ?? ids.next(),
        fields: {
          ...newSubscription({
            name: `${hostName}-subscription`,
            endpoint_id: id,
            event_types: request.eventTypes,
          }),
          type: 'cli',
          source_id: sourceId,
          filter: request.filter,
          retry_config: RETRIES,
        },
      },
    });
    return {
      device: saved.device,
      subscriptionId: saved.subscription.id,
      secret: secret.reveal().secrets.at(-1)?.value ?? '',
    };
  });
}

async function requireRoom({ deps }: ConfigChanges, change: ConfigChange, callerId: string): Promise<void> {
  const full = await makeRoomForDevice(change, deps.endpoints, { callerId, ...MAX_DEVICES });
  if (full === null) return;
  const bound =
    full === 'caller'
      ? { who: 'A key or person', limit: MAX_DEVICES.ofCaller }
      : { who: 'A project', limit: MAX_DEVICES.ofProject };
  throw new AppError('too_many', { ...bound, what: 'devices', retry: DISABLED_AFTER_SECONDS });
}

/** Switches off devices that were not seen for ten minutes, and deletes those not seen for 30 days. */
export function tidyDevices(
  changes: ConfigChanges,
  { projectId, ids }: { projectId: ProjectId; ids: readonly string[] },
): Promise<void> {
  return changes.changeState(projectId, async (change) => {
    const unseen = await disableUnseen(change, ids);
    await deleteForgotten(change, changes.deps.endpoints, unseen);
  });
}

export function deleteDevice(changes: ConfigChanges, one: Author & { id: string }): Promise<null> {
  return changes.change(one, async (change) => {
    const known = await devicesByIds(change, one.projectId, [one.id]);
    const row = found(known.get(one.id), 'device', one.id);
    await deleteDeviceRows(change, changes.deps.endpoints, one.id);
    return { result: null, audit: [changeOf('device.deleted', row, null)] };
  });
}
