import { sizedTo, usableMemory } from '../platform/memory/usable-memory.ts';

/**
 * The settings of the embedded server, chosen for many small committed batches on one machine. Durability is
 * a guarantee, so fsync and synchronous_commit are explicit. WAL compression stays off: the builds we use
 * have no lz4, and pglz costs more CPU than the disk it saves.
 */
export const serverSettings = (usable = usableMemory()): Readonly<Record<string, string>> => ({
  // Only we can connect: no TCP, and the socket's directory is private.
  listen_addresses: '',
  unix_socket_permissions: '0700',

  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',

  max_connections: '100',
  shared_buffers: `${Math.max(32, sizedTo(256, usable))}MB`,
  huge_pages: 'try',
  // Anonymous memory needs no System V limits raised. The reserve keeps dynamic segments out of the 64 MB
  // /dev/shm that containers get.
  shared_memory_type: 'mmap',
  min_dynamic_shared_memory: '32MB',

  // An idle server is small: one process for reads ahead and room for 8 reads of each connection, instead of 3 and 64
  // (7 MB less), and no process for logical replication into this database.
  io_workers: '1',
  io_max_concurrency: '8',
  max_logical_replication_workers: '0',

  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  wal_compression: 'off',

  // The queue is all inserts and deletes, so vacuum often and quickly.
  autovacuum_naptime: '15s',
  autovacuum_vacuum_cost_limit: '1000',
  jit: 'off',

  timezone: 'UTC',
  log_timezone: 'UTC',
  logging_collector: 'off',
  log_destination: 'stderr',
  // DETAIL lines contain row values, which are our users' payloads.
  log_error_verbosity: 'terse',
});
