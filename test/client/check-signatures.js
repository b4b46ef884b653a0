/** Runs in Node, Bun, Deno and browsers: which of the requests does the client accept? */
export async function acceptedRequests(verifyWebhook, requests) {
  const results = [];
  for (const { headers, body, secret, schemes } of requests) {
    const bytes = Uint8Array.from(body.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    const input = new Request('http://localhost/', { method: 'POST', headers, body: bytes });
    results.push(
      await verifyWebhook(input, secret, { schemes }).then(
        () => true,
        (error) => (error.name === 'WebhookError' ? false : String(error)),
      ),
    );
  }
  return results;
}
