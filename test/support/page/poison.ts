import type {
  FillRow,
  Overview,
  StrategyDetail,
  StrategyRow,
  Why,
} from '../../../src/ui/page/model.ts'

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

export function poisonedOverview(overview: Overview): Overview {
  const why = { sinceMs: overview.atMs - 60_000, cause: MARKUP, detail: MARKUP }
  return {
    ...overview,
    version: MARKUP,
    ready: { ok: false, reasons: [MARKUP] },
    halted: why,
    stale: { files: 1, detail: MARKUP },
    wallets: overview.wallets.map((wallet) => ({ ...wallet, name: MARKUP, explorerUrl: PROGRAM })),
    holdings: overview.holdings.map((holding) => ({ ...holding, token: MARKUP + holding.token })),
    profit:
      overview.profit === null
        ? null
        : {
            ...overview.profit,
            token: MARKUP,
            held: overview.profit.held.map((each) => ({ ...each, token: MARKUP })),
          },
    gasTank:
      overview.gasTank === null ? null : { ...overview.gasTank, unknown: MARKUP, account: MARKUP },
    orders: overview.orders.map((order) => ({
      ...order,
      what: MARKUP,
      doing: MARKUP,
      state: MARKUP,
      venue: MARKUP,
    })),
    limits: overview.limits.map((limit) => ({ ...limit, token: MARKUP, used: MARKUP })),
  }
}

export function poisonedTimeline(lines: Why['lines']): Why['lines'] {
  return lines.map(({ atMs, facts }) => ({
    atMs,
    title: MARKUP,
    sentences: [MARKUP],
    facts: facts.map(() => [MARKUP, MARKUP]),
  }))
}

export function poisonedDetail(detail: StrategyDetail): StrategyDetail {
  const amount = { amount: MARKUP, token: MARKUP }
  const { chart } = detail
  const problem = { line: 1, path: MARKUP, message: MARKUP, expected: MARKUP, frame: MARKUP }
  return {
    profit: { realised: amount, unrealised: amount },
    traded: [{ fills: 1, sold: amount, bought: amount, price: MARKUP }],
    held: { amount, cost: amount, price: MARKUP },
    file: { name: MARKUP, text: MARKUP, isCut: true, differs: true, problems: [problem] },
    chart: chart && {
      ...chart,
      pair: MARKUP,
      pairs: [MARKUP, `${MARKUP}2`],
      levels: [{ name: MARKUP, price: 3_000, kind: 'trade', awayPercent: 1, isReached: true }],
      weights: [{ token: MARKUP, target: 1, band: 1, now: 1 }],
    },
    call: null,
  }
}
