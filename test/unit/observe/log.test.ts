import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLog } from '../../../src/observe/log.ts'
import { createScrubber } from '../../../src/system/scrubber.ts'
import { captureLog } from '../../support/capture-log.ts'

const KEY = `0x${'5e'.repeat(16)}${'a7'.repeat(16)}`
const DIGEST = `0x${'c0ffee11'.repeat(8)}`
const SIGNATURE = `0x${'1b'.repeat(65)}`

test('a line is one JSON object with level name, time, message and fields', async () => {
  const { log, text, lines } = await captureLog()
  log.info('placed weekly-eth', { attempt: 2, amount: 25_000_000n })
  expect(text().endsWith('\n')).toBe(true)
  expect(lines()).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      msg: 'placed weekly-eth',
      attempt: 2,
      amount: '25000000',
    },
  ])
})

test('lines below the level are not written', async () => {
  const { log, lines } = await captureLog({ level: 'warn' })
  log.debug('a')
  log.info('b')
  log.warn('c')
  expect(lines().map(({ msg }) => msg)).toEqual(['c'])
  expect([log.enabled('info'), log.enabled('error')]).toEqual([false, true])
})

test('a percent sign in a message stays as it is', async () => {
  const { log, lines } = await captureLog()
  log.info('sold 5%s of %d', { share: '5%' })
  expect(lines()[0]).toMatchObject({ msg: 'sold 5%s of %d', share: '5%' })
})

test('pretty format writes one plain sentence before the call returns, and omits fields', async () => {
  const written: string[] = []
  const destination = { write: (line: string) => written.push(line) }
  const scrubber = createScrubber()
  const log = await createLog({ level: 'info', format: 'pretty', destination, scrubber })
  log.info('filled weekly-eth', { strategy: 'weekly-eth' })
  expect(written.join('')).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (UTC|[+-]\d\d:\d\d) {2}filled weekly-eth\n$/,
  )
})

test('format auto is pretty on a terminal and JSON elsewhere', async () => {
  const formats = [true, false].map(async (isTTY) => {
    const written: string[] = []
    const destination = { isTTY, write: (line: string) => written.push(line) }
    const scrubber = createScrubber()
    const log = await createLog({ level: 'info', format: 'auto', destination, scrubber })
    log.info('hello')
    return written.join('').startsWith('{') ? 'json' : 'pretty'
  })
  expect(await Promise.all(formats)).toEqual(['pretty', 'json'])
})

test('control characters of foreign text are replaced, and a message stays one line', async () => {
  const { log, lines } = await captureLog()
  log.info('service said \u001b[2J\u0007\nforged line', { detail: 'a\u001b[31mb' })
  expect(lines()[0]).toMatchObject({ msg: 'service said  [2J  forged line', detail: 'a [31mb' })
})

test('characters that reorder or hide text are replaced at any depth', async () => {
  const { log, lines } = await captureLog()
  log.info('a\u202eb', { note: ['c\u2066d', { 'e\u{e0041}f': 'g\u200bh' }] })
  expect(lines()[0]).toMatchObject({ msg: 'a b', note: ['c d', { 'e f': 'g h' }] })
})

test('an error keeps its type, message, stack and causes, and loses other properties', async () => {
  const { log, lines } = await captureLog()
  const cause = Object.assign(new Error('connection reset'), { code: 'ECONNRESET' })
  const error = Object.assign(new TypeError('no answer', { cause }), { request: { body: 'x' } })
  log.error('tick failed', { err: error })
  expect(lines()[0]?.['err']).toEqual({
    type: 'TypeError',
    message: 'no answer',
    stack: expect.stringContaining('log.test.ts'),
    cause: {
      type: 'Error',
      message: 'connection reset',
      code: 'ECONNRESET',
      stack: expect.any(String),
    },
  })
})

test('hashes, digests and addresses stay readable', async () => {
  const { log, text } = await captureLog()
  const address = `0x${'ab'.repeat(20)}`
  log.info(`mined ${DIGEST}`, { txHash: DIGEST, deep: { digest: DIGEST, owner: address } })
  expect(text().split(DIGEST)).toHaveLength(4)
  expect(text()).toContain(address)
})

test.each([
  ['private key under a descriptive name', { wallet: { privateKey: KEY } }],
  ['private key under key', { trader: { key: KEY } }],
  ['private keys in a list under keys', { keys: [KEY] }],
  ['private key below key', { key: { value: KEY } }],
  ['private key in text', { detail: `bad config: privateKey: "${KEY}"` }],
  ['private key in text without punctuation', { detail: `cannot use key ${KEY}` }],
  ['key in a map', { wallets: new Map([['privateKey', KEY]]) }],
])('an unregistered %s is hidden', async (_, fields) => {
  const { log, text } = await captureLog()
  log.info('loaded', fields)
  expect(text()).not.toContain(KEY.slice(2))
  expect(text()).toContain('***')
})

test.each([
  ['signature', SIGNATURE],
  ['signature without 0x', SIGNATURE.slice(2)],
  ['compact signature', `0x${'1b'.repeat(64)}`],
  ['raw transaction', `0x02f8${'9d'.repeat(120)}`],
])('a %s is replaced by its length, in messages and at any depth', async (_, hex) => {
  const { log, text } = await captureLog()
  log.info(`sent ${hex}`, { a: [{ b: `<${hex}>` }], err: new Error(`rejected ${hex}`) })
  expect(text()).not.toMatch(/[0-9a-f]{100}/i)
  expect(text()).toContain(`<${hex.replace('0x', '').length} hex digits>`)
})

test.each([
  ['https://user:hunter2@rpc.example/', 'https://rpc.example/'],
  ['https://rpc.example/v2/AbCd1234efGH5678', 'https://rpc.example/v2/***'],
  ['wss://rpc.example/ws?apikey=abc&x=1', 'wss://rpc.example/ws?***'],
  [
    'https://hooks.example/services/T0AAA/B0BBB/cccDDD#frag',
    'https://hooks.example/services/***/***/***?***',
  ],
  ['http://127.0.0.1:8545', 'http://127.0.0.1:8545'],
  ['https://swap.example/api/v1/orders', 'https://swap.example/api/v1/orders'],
])('only the harmless part of the address %s is kept', async (address, shown) => {
  const { log, lines } = await captureLog()
  log.info('requested', { detail: `error at (${address}), trying again` })
  expect(lines()[0]?.['detail']).toBe(`error at (${shown}), trying again`)
})

test('file addresses in stacks are kept, so that an error can be located', async () => {
  const { log, lines } = await captureLog()
  log.info('at file:///opt/app1/dist/tranched.js:12:5')
  expect(lines()[0]?.['msg']).toBe('at file:///opt/app1/dist/tranched.js:12:5')
})

test('tokens of a registered address are hidden outside the address too', async () => {
  const { log, scrubber, text } = await captureLog()
  scrubber.add('https://user:s3cretpass@rpc.example/v2/abcdefghijklmnopqrst?key=zyxwvutsrq')
  log.info('s3cretpass', { a: 'path abcdefghijklmnopqrst', b: 'ZYXWVUTSRQ', host: 'rpc.example' })
  expect(text()).not.toMatch(/s3cretpass|abcdefghijklmnopqrst|zyxwvutsrq/i)
  expect(text()).toContain('rpc.example')
})

test.each([
  ['in the middle', 's3cret-word-and-mo', '***'],
  ['in another case', 'S3CRET-Wo', '***'],
  ['after too few letters to be secret', 's3', 's3'],
])('the start of a secret is hidden if the other text is cut %s', async (_where, left, shown) => {
  const { log, scrubber, lines } = await captureLog()
  scrubber.add('s3cret-word-and-more')
  log.info(`it said "no: ${left}..." and more`)
  expect(lines()[0]).toMatchObject({ msg: `it said "no: ${shown}..." and more` })
})

test('a secret as short as ordinary words does not garble the log', async () => {
  const { log, scrubber, lines } = await captureLog()
  scrubber.add('level')
  scrubber.add('')
  log.info('level 3 level', { level3: 'level' })
  expect(lines()[0]).toMatchObject({ msg: 'level 3 level', level3: 'level' })
})

test('bytes, cycles, deep nesting, throwing getters and huge values cannot break or flood a line', async () => {
  const { log, lines, text } = await captureLog()
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`)
  const broken = Object.defineProperty({}, 'x', {
    enumerable: true,
    get: () => {
      throw new Error('no')
    },
  })
  log.info('odd', {
    cycle,
    deep,
    broken,
    bytes: new Uint8Array(32),
    long: 'words '.repeat(50_000),
    many: Array.from({ length: 50_000 }, (_, index) => ({ index })),
    callback: () => 1,
    foreign: JSON.parse('{"__proto__": {"polluted": 1}}'),
  })
  expect(lines()[0]).toMatchObject({
    cycle: { self: '[circular]' },
    broken: '[unreadable]',
    bytes: '[32 bytes]',
  })
  expect(text()).toContain('[nested too deep]')
  expect(text()).toContain('[49900 more]')
  expect(text()).toContain('"foreign":{"__proto__":{"polluted":1}}')
  expect(lines()[0]).not.toHaveProperty('callback')
  expect(text().length).toBeLessThan(20_000)
})

/** Private keys, passwords and tokens: printable, long enough to be secret. */
const anySecret = fc.oneof(
  fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => `0x${hexOf(bytes)}`),
  fc.stringMatching(/^[A-Za-z0-9_!"\\/@:%&=+ é-]{12,40}$/).map((text) => `x${text}y`),
  fc.stringMatching(/^[A-Za-z0-9]{16,40}$/).map((token) => `https://rpc.example/v3/${token}`),
)

const anySpelling = fc.constantFrom<(secret: string) => string>(
  (secret) => secret,
  (secret) => secret.toUpperCase().replace('0X', '0x'),
  (secret) => secret.toLowerCase(),
  (secret) => secret.replace('0x', ''),
  (secret) => JSON.stringify({ body: secret }),
  (secret) => encodeURIComponent(secret),
  (secret) => `prefix ${secret}, and "${secret}" again`,
  (secret) => `as base64 ${bytesOf(secret).toString('base64')}`,
  (secret) => `as base64url ${bytesOf(secret).toString('base64url')}`,
)

/** In another encoding: a key by its bytes, other secrets by their characters. */
function bytesOf(secret: string): Buffer {
  return isKey(secret) ? Buffer.from(secret.replace('0x', ''), 'hex') : Buffer.from(secret)
}

/** Wrappers that nest a value deeper in the logged fields. */
const anyWrap = fc.constantFrom<(value: unknown) => unknown>(
  (value) => ({ field: value }),
  (value) => [1, value],
  (value) => new Map([['entry', value]]),
  (value) => new Map([[typeof value === 'string' ? value : 'entry', 1]]),
  (value) => ({ [typeof value === 'string' ? value : 'entry']: value }),
  (value) => new Set([value]),
  (value) => new Error('outer', { cause: value }),
  (value) => new Error(typeof value === 'string' ? `at ${value}` : 'outer', { cause: value }),
  (value) => new AggregateError([value], 'several'),
  (value) => Object.assign(new Error('with code'), { code: value }),
  (value) => ({ toJSON: () => value }),
  (value) => (typeof value === 'string' ? Buffer.from(value) : value),
  (value) => (isKey(value) ? Buffer.from(value.replace('0x', ''), 'hex') : value),
  (value) => (isKey(value) ? BigInt(`0x${value.replace('0x', '')}`) : value),
)

function isKey(value: unknown): value is string {
  return typeof value === 'string' && /^(0x)?[0-9a-f]{64}$/i.test(value)
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** Forms that must not appear: plain, escaped and encoded text, bytes and, for keys, a number. */
function recognisableForms(secret: string): string[] {
  const core = secret.replace(/^https:.*\//, '').replace('0x', '')
  const bytes = isKey(secret) ? Buffer.from(core, 'hex') : Buffer.from(core)
  const escaped = JSON.stringify(core).slice(1, -1)
  const forms = [
    core,
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    encodeURIComponent(core),
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.join(','),
  ]
  return isKey(secret) ? [...forms, BigInt(`0x${core}`).toString()] : forms
}

test('a registered secret never appears in the output, in any spelling or nesting', async () => {
  await fc.assert(
    fc.asyncProperty(
      anySecret,
      anySpelling,
      fc.array(anyWrap, { maxLength: 7 }),
      async (secret, spell, wraps) => {
        const { log, scrubber, text } = await captureLog()
        scrubber.add(secret)
        const spelled = spell(secret)
        const value = wraps.reduce<unknown>((inner, wrap) => wrap(inner), spelled)
        log.info(`failed with ${spelled}`, { value, err: new Error('x', { cause: value }) })
        const output = text().toLowerCase()
        for (const form of recognisableForms(secret))
          expect(output).not.toContain(form.toLowerCase())
      },
    ),
    { numRuns: 300 },
  )
})
