import {
  FAILURE_REASONS,
  REASONS,
  REFUSAL_REASONS,
  type Reason,
  SKIP_REASONS,
} from '../../src/domain/order/reason.ts'
import { rowOf } from './strategy-tables.ts'

/** Tables of reasons in Markdown by outcome: the reason, its meaning, and the change that leads to another outcome. */
export function reasonTables(): Readonly<Record<string, string>> {
  return {
    skipped: tableOf(SKIP_REASONS),
    refused: tableOf(REFUSAL_REASONS),
    failed: tableOf(FAILURE_REASONS),
  }
}

function tableOf(reasons: readonly Reason[]): string {
  const rows = reasons.map((reason) => {
    const [means, change] = REASONS[reason]
    return rowOf([`\`${reason}\``, means, change])
  })
  return ['| reason | because | for another outcome |', '|---|---|---|', ...rows].join('\n')
}
