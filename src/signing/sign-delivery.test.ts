import { createPrivateKey, createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signatureHashes } from '../domain/config/signature-hash.ts';
import { compileSigner, type SigningConfig, type SigningInput } from './sign-delivery.ts';

const defaults: SigningConfig = {
  schemes: ['convoy'],
  header: 'X-Convoy-Signature',
  versions: [{ hash: 'SHA256', encoding: 'hex' }],
  advanced: true,
  secrets: [{ value: 'secret', expiresAt: null }],
};

function headersOf(config: Partial<SigningConfig>, input: Partial<Omit<SigningInput, 'body'>>, body: string) {
  const signer = compileSigner({ ...defaults, ...config });
  return signer.headers({
    id: 'msg_1',
    timestampSeconds: 1_257_894_000,
    nowMs: 1_257_894_000_000,
    body: Buffer.from(body),
    ...input,
  });
}

const forever = (value: string) => ({ value, expiresAt: null });
const smallBody = '{"b":{},"e":"123","a":1}';

describe('Convoy simple', () => {
  it('is the bare digest of the body', () => {
    const sha512 = [{ hash: 'SHA512', encoding: 'hex' }] as const;
    expect(headersOf({ advanced: false, versions: sha512 }, {}, smallBody)).toEqual([
      [
        'X-Convoy-Signature',
        'c5dcfeda3f5a3154145234b2d0a533fc2b230f88da0fac0724619fd5cdde673ad6c474dfd5c02367768bd3b3bd3595cc860e606a37e2f9362e054d5aa14d7cc4',
      ],
    ]);
  });

  it.each([
    ['SHA256', 'hex', '244449b7f48cbc2709060c9dcdc2b3aa47a78f540430579015c579fb12defbb4'],
    ['SHA256', 'base64', 'JERJt/SMvCcJBgydzcKzqkenj1QEMFeQFcV5+xLe+7Q='],
    [
      'SHA512',
      'base64',
      'bMdy3IGUKuG1/6kcOmoHsNN+3I3GvYPjUYohnx8Z/3GuG3bWsyCUDUFMI2oarX95MLY+DxkolRlV0xIZVF4bZg==',
    ],
  ] as const)('encodes %s as %s', (hash, encoding, expected) => {
    const config = {
      advanced: false,
      versions: [{ hash, encoding }],
      secrets: [forever('convoy-webhook-secret')],
    };
    const body = '{"event":"charge.success","amount":1000,"currency":"NGN"}';
    expect(headersOf(config, {}, body)).toEqual([['X-Convoy-Signature', expected]]);
  });

  it('uses the last version and the newest secret', () => {
    const versions = [
      { hash: 'SHA512', encoding: 'base64' },
      { hash: 'SHA256', encoding: 'hex' },
    ] as const;
    const both = headersOf(
      { advanced: false, versions, secrets: [forever('old'), forever('secret')] },
      {},
      'x',
    );
    expect(both).toEqual(headersOf({ advanced: false }, {}, 'x'));
  });

  it('falls back to an older secret when the newest has expired', () => {
    const secrets = [forever('secret'), { value: 'newer', expiresAt: 5 }];
    expect(headersOf({ advanced: false, secrets }, { nowMs: 5 }, 'x')).toEqual(
      headersOf({ advanced: false }, {}, 'x'),
    );
  });
});

describe('Convoy advanced', () => {
  it('signs the time, a comma and the body', () => {
    expect(headersOf({}, {}, smallBody)).toEqual([
      [
        'X-Convoy-Signature',
        't=1257894000,v1=c97c302e4a991a7d4a72b60c3f9a0c3adb3611cd0acc632994a72ace04d6509c',
      ],
    ]);
  });

  it('has one entry per live secret, oldest first', () => {
    const secrets = [forever('older-expired-secret'), forever('expired-secret'), forever('new-secret')];
    expect(headersOf({ secrets }, {}, smallBody)[0]![1].split(',')).toEqual([
      't=1257894000',
      'v1=5b255b0b867c5540679bad7dfa11be73ffd4ee248647646fb325ccbe19167439',
      'v1=9942b27103f8f5f5ce4cd3751524dbb7087a596487c784655a33f528cd4d7400',
      'v1=d5589c4f5e51d74e6116c8d5db2704d76cdf88521e2cdd749d2d5091e3d6183c',
    ]);
  });

  it('numbers the versions by their position, each with every live secret', () => {
    const config: Partial<SigningConfig> = {
      header: 'X-Company-Signature',
      versions: [
        { hash: 'SHA256', encoding: 'hex' },
        { hash: 'SHA512', encoding: 'base64' },
      ],
      secrets: [forever('older'), forever('convoy-webhook-secret')],
    };
    const body = '{"event":"charge.success","amount":1000,"currency":"NGN"}';
    const [[name, value]] = headersOf(config, { timestampSeconds: 1_700_000_000 }, body) as [
      [string, string],
    ];
    expect(name).toBe('X-Company-Signature');
    const entries = value.split(',');
    expect(entries.map((entry) => entry.slice(0, 3))).toEqual(['t=1', 'v1=', 'v1=', 'v2=', 'v2=']);
    expect(entries[2]).toBe('v1=77b8b9269f25a199846a55a2bd25b3fba151c70fdae60bb1dcd87fbbc943c55c');
    expect(entries[4]).toBe(
      'v2=shIuJSzSWCzyJcsrjUzu3p40Mp4v6VwCYZw+1dSj2ac+a+ry3/jnbXGmk64ZjO5AaF7tEq1O4uAz3C0Dme3gVw==',
    );
  });

  it('uses a whsec_ secret as plain text', () => {
    const secrets = [forever('whsec_c2VjcmV0')];
    expect(headersOf({ secrets }, {}, 'x')).not.toEqual(headersOf({}, {}, 'x'));
    expect(headersOf({ secrets, schemes: ['standard'] }, {}, 'x')).toEqual(
      headersOf({ schemes: ['standard'] }, {}, 'x'),
    );
  });
});

describe('hashes', () => {
  // Computed with Python's hmac module.
  const digests: Record<string, string> = {
    MD5: '766cce60b4a723398e981d07598e0467',
    SHA1: '53b47c01788c7d418da049492118eb6e742a52ef',
    SHA224: 'b1175d133e7161aadeb2a281a537ca2f173b4e04d7bc3e316e85e17b',
    SHA256: '0acc4ff67f6a06d174e61e22d67254f0ae3b226e479e02537c26e56c007206fb',
    SHA384:
      '5b50bf6c934bd3a9ab1ba8fa22ccb0f65dd453cd63e00c241790f13d0fbca555b704297f91221239dc1c167a0eac1ff6',
    SHA512:
      '94188513920b6ba4f567739f0f9449386dd4c29ed722da03beb855d251eb5e31ba772d0f7f9f4e5ff40407a570cdb577f4d901af78b51b57c8c00781ac510e98',
    SHA3_224: 'bd58571c47478d5f4bcdfb5d7d68a6307d180bd3671e166610a30916',
    SHA3_256: 'afdbf1a19f5983cbf650edb5c5c5a02bdadbdf790f34edad67533e9925500bfd',
    SHA3_384:
      '6f5338fd16e268f3e16c29910a22ec9aaf62563ff5fe19468f6b6036ca99a58668ed9b69d2c05286b191bad6a011b717',
    SHA3_512:
      '9550020003a37a46aae2368a0529619e25713833eb55cf23c87ffcaff289f3f5b4c99950f967c52ce4569646a8e6f57be0904ce55411878ac14855c06979d2b5',
    SHA512_224: 'fcfc3151110b9ac869f80eec59bd2791808b3f401c22440257c2ecd4',
    SHA512_256: '130734ac35da7e013593a0032d5c97664db76a2190017bc9803e4b6294fe9a79',
  };

  it.each([...signatureHashes])('%s signs non-ASCII bodies with a non-ASCII secret', (hash) => {
    const config: Partial<SigningConfig> = {
      advanced: false,
      versions: [{ hash, encoding: 'hex' }],
      secrets: [forever('pässwörd secret')],
    };
    expect(headersOf(config, {}, '{"order":"ö-17","total":10.50}')[0]![1]).toBe(digests[hash]);
  });

  it.each(['sha256', 'SHA-256', 'toString', ''])('refuses the unknown name %j', (hash) => {
    expect(() => compileSigner({ ...defaults, versions: [{ hash, encoding: 'hex' }] })).toThrow(/unknown/);
  });

  it('refuses an empty list of versions', () => {
    expect(() => compileSigner({ ...defaults, versions: [] })).toThrow(/version/);
    expect(() => compileSigner({ ...defaults, schemes: ['standard'], versions: [] })).not.toThrow();
  });
});

describe('Standard Webhooks', () => {
  const published = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampSeconds: 1_614_265_330 };
  const publishedBody = '{"test": 2432232314}';
  const publishedSecret = forever('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  // PKCS #8 framing around the 32-byte seed of the published 64-byte key.
  const seed = Buffer.from(
    '6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==',
    'base64',
  ).subarray(0, 32);
  const privateKey = createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  });

  it('signs the id, the time and the body under a decoded whsec_ secret', () => {
    expect(
      headersOf({ schemes: ['standard'], secrets: [publishedSecret] }, published, publishedBody),
    ).toEqual([
      ['webhook-id', 'msg_p5jXN8AQM9LWM0D4loKWxJek'],
      ['webhook-timestamp', '1614265330'],
      ['webhook-signature', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
    ]);
    const second = headersOf(
      { schemes: ['standard'], secrets: [forever('whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD')] },
      { id: 'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk', timestampSeconds: 1_649_367_553 },
      '{"email":"test@example.com","username":"test_user"}',
    );
    expect(second[2]).toEqual(['webhook-signature', 'v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=']);
  });

  it('adds the ed25519 signature after those of the secrets', () => {
    const config: Partial<SigningConfig> = {
      schemes: ['standard'],
      secrets: [publishedSecret],
      ed25519: { privateKey },
    };
    expect(headersOf(config, published, publishedBody)[2]![1]).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= ' +
        'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
    );
  });

  it('signs with ed25519 alone when there is no live secret, for any bytes', () => {
    const signer = compileSigner({
      ...defaults,
      schemes: ['standard'],
      secrets: [],
      ed25519: { privateKey },
    });
    const body = Buffer.from([0x00, 0xff, 0xfe, 0x80]);
    const headers = signer.headers({ ...published, nowMs: 0, body });
    const [version, signature] = headers[2]![1].split(',') as [string, string];
    expect(version).toBe('v1a');
    const message = Buffer.concat([Buffer.from('msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.'), body]);
    const publicKey = createPublicKey(privateKey);
    expect(verify(null, message, publicKey, Buffer.from(signature, 'base64'))).toBe(true);
    message[message.length - 1]! ^= 1;
    expect(verify(null, message, publicKey, Buffer.from(signature, 'base64'))).toBe(false);
  });

  it('ignores the Convoy settings', () => {
    const config: Partial<SigningConfig> = {
      schemes: ['standard'],
      secrets: [publishedSecret],
      advanced: false,
      header: 'X-Other',
      versions: [{ hash: 'MD5', encoding: 'hex' }],
    };
    expect(headersOf(config, published, publishedBody)[2]![1]).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });
});

describe('rolling a secret', () => {
  const expiresAt = 1_700_000_000_123;
  const rolled: Partial<SigningConfig> = {
    schemes: ['convoy', 'standard'],
    secrets: [{ value: 'old-secret', expiresAt }, forever('new-secret')],
  };
  const onlyNew: Partial<SigningConfig> = { ...rolled, secrets: [forever('new-secret')] };
  const signatureCount = (nowMs: number) => {
    const headers = new Map(headersOf(rolled, { nowMs }, 'x'));
    return {
      convoy: headers.get('X-Convoy-Signature')!.split(',v1=').length - 1,
      standard: headers.get('webhook-signature')!.split(' ').length,
    };
  };

  it('signs with both up to the last millisecond and with the new one from the instant of expiry', () => {
    expect(signatureCount(expiresAt - 1)).toEqual({ convoy: 2, standard: 2 });
    expect(headersOf(rolled, { nowMs: expiresAt }, 'x')).toEqual(headersOf(onlyNew, {}, 'x'));
    expect(headersOf(rolled, { nowMs: expiresAt + 1 }, 'x')).toEqual(headersOf(onlyNew, {}, 'x'));
  });

  it('signs the simple form with the new secret only', () => {
    const simple = { ...rolled, advanced: false };
    expect(headersOf(simple, { nowMs: expiresAt - 1 }, 'x')[0]).toEqual(
      headersOf({ ...onlyNew, advanced: false }, {}, 'x')[0],
    );
  });
});

describe('no signature', () => {
  it.each([true, false])('no live secret: no headers at all (advanced %s)', (advanced) => {
    const schemes = ['convoy', 'standard'] as const;
    expect(headersOf({ schemes, advanced, secrets: [] }, {}, 'x')).toEqual([]);
    expect(
      headersOf({ schemes, advanced, secrets: [{ value: 's', expiresAt: 7 }] }, { nowMs: 7 }, 'x'),
    ).toEqual([]);
  });

  it('an empty secret does not sign next to a real one', () => {
    const schemes = ['convoy', 'standard'] as const;
    expect(headersOf({ schemes, secrets: [forever('secret'), forever('')] }, {}, 'x')).toEqual(
      headersOf({ schemes }, {}, 'x'),
    );
  });

  it('no scheme, no headers', () => {
    expect(headersOf({ schemes: [] }, {}, 'x')).toEqual([]);
  });
});

describe('sensitivity', () => {
  // differs Sending: The bytes signed are the bytes sent. Convoy signs a compacted copy.
  it('every signed part changes every signature, an empty body included', () => {
    const schemes = ['convoy', 'standard'] as const;
    const signatures = [
      headersOf({ schemes }, {}, ''),
      headersOf({ schemes }, {}, ' '),
      headersOf({ schemes }, { timestampSeconds: 1 }, ''),
      headersOf({ schemes, secrets: [forever('secret2')] }, {}, ''),
    ];
    const distinct = (name: string) => new Set(signatures.map((headers) => new Map(headers).get(name))).size;
    expect(distinct('X-Convoy-Signature')).toBe(4);
    expect(distinct('webhook-signature')).toBe(4);
    const otherId = new Map(headersOf({ schemes }, { id: 'msg_2' }, ''));
    expect(otherId.get('webhook-signature')).not.toBe(new Map(signatures[0]).get('webhook-signature'));
  });
});
