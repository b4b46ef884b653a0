import { conformance } from './conformance.ts';
import { postgresDriver } from './postgres-driver.ts';

conformance('PostgreSQL', {
  broker: 'postgres',
  start: postgresDriver,
  isOrdered: true,
  takesBytes: false,
  isEnvelope: false,
});
