// Fills a journal to a number of records, then times single durable transitions: each waits for the previous one.
import { mkdirSync, rmSync } from 'node:fs'
import { deriveJournalKey } from '../../src/signing/keys/journal-key.ts'
import { openJournal } from '../../src/store/file/journal-file.ts'
import { quantile } from '../statistics.mjs'

const { dir, records, transitions } = JSON.parse(process.argv[2])
const STRATEGY = 'bench'
const OWNER = '0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f'
const TOKEN = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
const WETH = '0x4200000000000000000000000000000000000006'
const PERMIT2 = '0x000000000022d473030f116ddee9f6b43ac78ba3'
const SPENDER = '0x5e771e5e771e5e771e5e771e5e771e5e771e5e77'
const DAY_MS = 86_400_000
const RECORDS_OF_ORDER = 6
const APPENDS_AT_ONCE = 200

rmSync(dir, { recursive: true, force: true })
mkdirSync(dir, { recursive: true })
/**
 * Orders are spread over a month, about a thousand records a day, so that state with a retention of days stays
 * realistic.
 */
let nowMs = Date.UTC(2026, 0, 1)
const stepMs = (30 * DAY_MS) / (100_000 / RECORDS_OF_ORDER)
const onFatal = (error) => {
  throw error
}
const key = deriveJournalKey(new Uint8Array(32).fill(7))
const { journal, close } = await openJournal({ dir, key, clock: { now: () => nowMs }, onFatal })

const hex = (value) => `0x${value.toString(16).padStart(64, '0')}`
const asset = (symbol, address, decimals) => ({
  token: { symbol, chain: 'base', chainId: 8453, address, decimals },
  native: false,
})

/** The records of one filled order, in the groups in which the daemon appends them. */
function* appendsOf(number) {
  const slotSeconds = number
  const intentId = `${STRATEGY}:${slotSeconds}:0`
  const txHash = hex(number)
  const amount = 25_000_000n
  const intent = {
    id: intentId,
    venue: 'gasless',
    strategy: STRATEGY,
    slotSeconds,
    leg: 0,
    owner: OWNER,
    recipient: OWNER,
    sell: asset('USDC', TOKEN, 6),
    buy: asset('WETH', WETH, 18),
    size: { side: 'sell', amount },
    maxSell: amount,
    slippageBps: 50,
    price: { min: undefined, max: undefined },
    startBeforeMs: 2e12,
  }
  const permit = {
    chainId: 8453,
    permit2: PERMIT2,
    owner: OWNER,
    token: TOKEN,
    amount,
    spender: SPENDER,
    nonce: BigInt(number) << 100n,
    deadlineSeconds: Math.floor(nowMs / 1000) + 60,
    recipient: OWNER,
    tokenOut: WETH,
    minAmountOut: 9_950_000_000_000_000n,
    attempt: 1,
    clientOrderId: `${intentId}:1`,
    quoteId: `quote-${number}`,
    digest: txHash,
    fromBlock: BigInt(number),
  }
  const transfers = [`${txHash}:0`, `${txHash}:1`]
  const fill = { txHash, blockNumber: BigInt(number), paid: amount, received: 10n ** 16n, transfers }
  const end = { outcome: 'filled', reason: 'filled' }
  yield [{ type: 'slot-opened', strategy: STRATEGY, slotSeconds, intents: [intent] }]
  yield [{ type: 'permit-recorded', intentId, permit }]
  yield [{ type: 'order-accepted', intentId, attempt: 1, orderId: `order-${number}` }]
  yield [{ type: 'fill-proven', intentId, attempt: 1, fill }]
  yield [
    { type: 'intent-closed', intentId, ...end },
    { type: 'slot-closed', strategy: STRATEGY, slotSeconds, ...end },
  ]
}

await journal.append({ type: 'bound', mode: 'live', chainId: 8453, genesisHash: hex(1), owner: OWNER })
await journal.append({ type: 'strategy-scheduled', strategy: STRATEGY, scheduleKey: 'x', fromSeconds: 0 })

let order = 0
const pending = []
for (let written = 2; written < records; written += RECORDS_OF_ORDER) {
  order += 1
  nowMs += stepMs
  for (const events of appendsOf(order)) pending.push(journal.append(...events))
  if (pending.length >= APPENDS_AT_ONCE) await Promise.all(pending.splice(0))
}
await Promise.all(pending)
// The snapshot under way belongs to the filling.
await new Promise((resolve) => setTimeout(resolve, 1_000))

const times = []
while (times.length < transitions) {
  order += 1
  nowMs += stepMs
  for (const events of appendsOf(order)) {
    const startedAt = performance.now()
    await journal.append(...events)
    times.push(performance.now() - startedAt)
  }
}
await close()
// The check: the records read back from the disk equal those appended.
const again = await openJournal({ dir, key, clock: { now: () => nowMs }, onFatal })
const { fills } = again.journal.state.strategies.get(STRATEGY)
let onDisk = 0
for await (const _record of again.journal.records()) onDisk += 1
await again.close()
if (fills !== order || onDisk !== 2 + order * RECORDS_OF_ORDER)
  throw new Error(`${order} orders were appended; the disk has ${fills} fills in ${onDisk} records`)
rmSync(dir, { recursive: true, force: true })
const meanMs = times.reduce((sum, each) => sum + each, 0) / times.length
const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((at) => quantile(times, at))
process.stdout.write(`${JSON.stringify({ records, p50Ms, meanMs, p99Ms, maxMs })}\n`)
