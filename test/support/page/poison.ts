import type { FillRow, Overview, StrategyRow, Why } from '../../../src/ui/page/model.ts'

/** Every text attempts to become markup, every address to run a script. */

export const MARKUP =
  '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>'
const PROGRAM = 'javascript:document.title="owned"'

export function poisonedStrategy(row: StrategyRow, index: number): StrategyRow {
  const slot = { slotSeconds: 1_893_488_400, outcome: MARKUP, reason: MARKUP, detail: MARKUP }
  return {
    ...row,
    name: `${MARKUP}${index}`,
    kind: MARKUP,
    does: MARKUP,
    schedule: MARKUP,
    waits: MARKUP,
    paused: { sinceMs: 0, cause: MARKUP, detail: MARKUP },
    lastSlot: slot,
    lastSkip: slot,
  }
}

export function poisonedFill(fill: FillRow): FillRow {
  const amount = { amount: MARKUP, token: MARKUP }
  return {
    ...fill,
    venue: MARKUP,
    sold: amount,
    bought: amount,
    call: MARKUP,
    charged: amount,
    explorerUrl: PROGRAM,
  }
}

export function poisonedOverview(told: Overview): Overview {
  const why = { sinceMs: told.atMs - 60_000, cause: MARKUP, detail: MARKUP }
  return {
    ...told,
    version: MARKUP,
    ready: { ok: false, reasons: [MARKUP] },
    halted: why,
    stale: { files: 1, detail: MARKUP },
    wallets: told.wallets.map((wallet) => ({ ...wallet, name: MARKUP, explorerUrl: PROGRAM })),
    holdings: told.holdings.map((holding) => ({ ...holding, token: MARKUP + holding.token })),
    profit:
      told.profit === null
        ? null
        : {
            ...told.profit,
            token: MARKUP,
            held: told.profit.held.map((each) => ({ ...each, token: MARKUP })),
          },
    gasTank: told.gasTank === null ? null : { ...told.gasTank, unknown: MARKUP, account: MARKUP },
    orders: told.orders.map((order) => ({
      ...order,
      what: MARKUP,
      doing: MARKUP,
      state: MARKUP,
      venue: MARKUP,
    })),
    limits: told.limits.map((limit) => ({ ...limit, token: MARKUP, used: MARKUP })),
  }
}

export function poisonedStory(lines: Why['lines']): Why['lines'] {
  return lines.map(({ atMs, facts }) => ({
    atMs,
    title: MARKUP,
    sentences: [MARKUP],
    facts: facts.map(() => [MARKUP, MARKUP]),
  }))
}
