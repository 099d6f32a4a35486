import { amountText, briefText } from '../../../domain/money/amount-text.ts'
import { formatAmount } from '../../../domain/money/units.ts'
import { formatInstant } from '../../../domain/schedule/civil-date.ts'
import { instantText } from '../../wording/log-values.ts'
import { notification } from '../../wording/notice.ts'
import { line, type Outputs } from '../output.ts'

export const STRATEGY_OUTPUTS = {
  'strategy-scheduled': {
    level: 'debug',
    line: ({ strategy, fromSeconds }) =>
      line(`slots of ${strategy} count from ${instantText(fromSeconds)} on`, { fromSeconds }),
    notify: null,
    title: ({ fromSeconds }) => `slots count from ${formatInstant(fromSeconds)}`,
  },

  'program-ended': {
    level: 'warn',
    line({ strategy, slotSeconds, token, rule, ...amounts }) {
      const unsold = formatAmount(amounts.unsold, token.decimals)
      const total = formatAmount(amounts.total, token.decimals)
      const then =
        rule === 'drop'
          ? 'which `unsold: drop` gives up'
          : `and no slice is left; \`tranched trigger ${strategy}\` sells it now`
      const details = { slotSeconds, token: token.symbol, unsold, total }
      const text = `${strategy} is over: ${unsold} of ${total} ${token.symbol} are not sold, ${then}`
      return line(text, { ...details, rule }, details)
    },
    notify: ({ strategy, token, total, unsold, rule }) =>
      rule === 'drop'
        ? undefined
        : notification(
            'unsold',
            `${strategy} is over, and ${briefText(unsold, token)} are unsold`,
            [
              `${briefText(total, token)} were to be sold, and no slice is left.`,
              `\`tranched trigger ${strategy}\` sells the rest now, within its limits.`,
            ],
          ),
    title: ({ unsold, total, token }) =>
      `TWAP over, ${amountText(unsold, token)} of ${amountText(total, token)} unsold`,
  },
} satisfies Partial<Outputs>
