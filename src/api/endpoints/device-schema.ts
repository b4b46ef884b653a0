import type { Static } from 'typebox';
import { idTime } from '../../domain/ids.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { type DeviceRow, DISABLED_AFTER_SECONDS } from '../../store/config/devices.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { iso, isoOrNull, Time, times } from '../http/fields.ts';

/** A connection notes every 10 s that it is there. */
export const SEEN_EVERY_MS = 10_000;
const ONLINE_MS = 2.5 * SEEN_EVERY_MS;

export const Device = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  endpoint_id: Type.String(),
  host_name: Type.String(),
  status: oneOf(['offline', 'online', 'disabled']),
  last_seen_at: Time,
  ...times,
});

export const NullableDevice = nullable(Device);

export function toDevice(row: DeviceRow, nowMs: number): Static<typeof Device> {
  const unseenMs = nowMs - row.last_seen_at;
  return {
    uid: row.id,
    project_id: row.project_id,
    endpoint_id: '',
    host_name: row.host_name,
    status:
      unseenMs < ONLINE_MS ? 'online' : unseenMs < DISABLED_AFTER_SECONDS * 1000 ? 'offline' : 'disabled',
    last_seen_at: iso(row.last_seen_at),
    created_at: iso(idTime(row.id)),
    updated_at: iso(row.last_seen_at),
    deleted_at: null,
  };
}

/** The device of a delivery or subscription. If it was deleted, its endpoint still has the name. */
export function deviceOf(
  endpoint: EndpointRow | undefined,
  device: DeviceRow | undefined,
  nowMs: number,
): Static<typeof Device> | null {
  if (device !== undefined) return toDevice(device, nowMs);
  if (endpoint?.delivery !== 'device') return null;
  return {
    uid: endpoint.id,
    project_id: endpoint.project_id,
    endpoint_id: '',
    host_name: endpoint.name,
    status: 'disabled',
    last_seen_at: iso(endpoint.updated_at),
    created_at: iso(idTime(endpoint.id)),
    updated_at: iso(endpoint.updated_at),
    deleted_at: isoOrNull(endpoint.deleted_at),
  };
}
