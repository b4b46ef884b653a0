/**
 * An `import` of node:http reads all of its exports. One of them is WebSocket, for which Node loads its own HTTP client:
 * 50 ms of CPU at each start. This reads only what is named.
 */
export const { maxHeaderSize, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');
