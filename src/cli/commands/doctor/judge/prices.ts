import {
  acceptPrice,
  type FeedReading,
  type PriceFeed,
  ROUND_AHEAD_MAX_SECONDS,
} from '../../../../domain/price.ts'
import { formatBrief } from '../../../../domain/units.ts'
import { durationText } from '../../../describe.ts'
import { type Check, fault, fine, warning } from '../check.ts'

/** A feed of the config as one block has it. */
export type FeedFacts = {
  readonly feed: PriceFeed
  /** Undefined where its contract gives no usable answer. */
  readonly reading: FeedReading | undefined
  /** Of the block, Unix seconds. */
  readonly nowSeconds: number
  /** Enabled strategies whose orders are held against it. */
  readonly users: readonly string[]
}

/** So much of `maxAge` in percent is a feed old that may be too old before its next round. */
const NEARLY_PERCENT = 90

/** A feed by the rules that orders go by. One that nobody needs stops nothing. */
export function judgeFeed({ feed, reading, nowSeconds, users }: FeedFacts): Check {
  const accepted = acceptPrice(feed, reading, nowSeconds)
  const bad = users.length === 0 ? warning : fault
  const path = `prices.${feed.pair}`
  if (!accepted.ok) {
    const [says, remedy] = wordsOf(accepted.reason, { feed, reading, nowSeconds })
    const waits = users.length === 0 ? '' : `; it keeps ${users.join(', ')} from trading`
    return bad('feed', `${feed.pair}: ${says}${waits}`, remedy)
  }
  const { answer, decimals, updatedAtSeconds } = reading ?? NOTHING
  const ageSeconds = Math.max(0, nowSeconds - updatedAtSeconds)
  const age = durationText(ageSeconds * 1_000)
  if (ageSeconds * 100 > feed.maxAgeSeconds * NEARLY_PERCENT)
    return warning(
      'feed',
      `${feed.pair}: ${age} old, and ${maxAgeText(feed)} is allowed`,
      `where its heartbeat is longer than that, give \`${path}.maxAge\` some more`,
    )
  return fine('feed', `${feed.pair}: ${formatBrief(answer, decimals)}, ${age} old`)
}

const NOTHING = { answer: 0n, decimals: 0, updatedAtSeconds: 0 }

type Refusal = Extract<ReturnType<typeof acceptPrice>, { ok: false }>['reason']

function wordsOf(
  reason: Refusal,
  { feed, reading, nowSeconds }: Omit<FeedFacts, 'users'>,
): readonly [says: string, remedy: string] {
  const path = `prices.${feed.pair}`
  switch (reason) {
    case 'price-missing':
      return [
        `no usable answer from ${feed.feed}${feed.sequencerFeed === undefined ? '' : ', or from its sequencer feed'}`,
        `correct \`${path}.feed\` by the list of its issuer`,
      ]
    case 'price-invalid':
      return [
        invalidText(reading ?? NOTHING, nowSeconds),
        `see what its issuer says of the feed, or correct \`${path}.feed\``,
      ]
    case 'sequencer-down':
      return [
        reading?.sequencer?.answer === 0n && reading.sequencer.startedAtSeconds === 0
          ? 'the round of its sequencer feed is invalid: it has no start'
          : 'the sequencer is down by its feed, or came back within the hour',
        'wait: orders go on an hour after it is up',
      ]
    case 'price-stale': {
      const ageSeconds = nowSeconds - (reading?.updatedAtSeconds ?? 0)
      const says =
        ageSeconds > feed.maxAgeSeconds
          ? `${durationText(ageSeconds * 1_000)} old, and ${maxAgeText(feed)} is allowed`
          : 'its newest round carries over the answer of an earlier one'
      return [
        says,
        `wait for its next round; where its heartbeat is longer than that, give \`${path}.maxAge\` some more`,
      ]
    }
  }
}

function invalidText(
  { answer, decimals, updatedAtSeconds }: typeof NOTHING,
  nowSeconds: number,
): string {
  if (answer > 0n && updatedAtSeconds <= 0)
    return 'its newest round is not complete: it has no time'
  if (answer > 0n && updatedAtSeconds > nowSeconds + ROUND_AHEAD_MAX_SECONDS) {
    const ahead = durationText((updatedAtSeconds - nowSeconds) * 1_000)
    return `its newest round is dated ${ahead} after the newest block`
  }
  return `it answers ${answer} with ${decimals} decimals, which is no price`
}

function maxAgeText({ maxAgeSeconds }: PriceFeed): string {
  return durationText(maxAgeSeconds * 1_000)
}
