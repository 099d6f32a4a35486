import type { Make } from './make.ts'

/** What the wallets and the GasTank hold. */
export function fundsMetrics(make: Make) {
  return {
    walletBalance: make.gauge({
      name: 'tranched_wallet_balance',
      help: 'Balance at the last tick, in whole tokens.',
      labelNames: ['wallet', 'token'],
    }),
    walletNeeded: make.gauge({
      name: 'tranched_wallet_needed',
      help: 'What the next slots of strategies that sell by the clock take at the most, together, in whole tokens; of ETH with the reserve for gas.',
      labelNames: ['wallet', 'token'],
    }),
    portfolioValue: make.gauge({
      name: 'tranched_portfolio_value',
      help: 'Value of what the wallet that trades holds of a token, in the token that most feeds are quoted in; absent without a usable price.',
      labelNames: ['token'],
    }),
    costBasis: make.gauge({
      name: 'tranched_cost_basis',
      help: 'What the tokens cost that orders bought and that are still held, by the average, in the token that most feeds are quoted in.',
      labelNames: ['token'],
    }),
    profit: make.gauge({
      name: 'tranched_profit',
      help: 'Profit of the orders since the first in the journal, by the average, before gas and charges, in the token that most feeds are quoted in; unrealised is absent while something held has no price.',
      labelNames: ['kind'],
    }),
    feedAgeMax: make.gauge({
      name: 'tranched_feed_age_max_seconds',
      help: 'Age from which on a price of the feed is not used.',
      labelNames: ['pair'],
    }),
    gasTankAlertBelow: make.gauge({
      name: 'tranched_gastank_alert_below_ether',
      help: 'What the operator wants to be warned below.',
      labelNames: ['account'],
    }),
    gasTankBalance: make.gauge({
      name: 'tranched_gastank_balance_ether',
      help: 'Deposit in the GasTank, as the service counts it.',
      labelNames: ['account'],
    }),
    gasTankOutstanding: make.gauge({
      name: 'tranched_gastank_outstanding_ether',
      help: 'Charges that are not settled yet.',
      labelNames: ['account'],
    }),
    gasTankAvailable: make.gauge({
      name: 'tranched_gastank_available_ether',
      help: 'Deposit less outstanding charges.',
      labelNames: ['account'],
    }),
    runway: make.gauge({
      name: 'tranched_runway_seconds',
      help: 'Time until a resource runs out by what the schedules will use of it; absent while unknown, and where it does not.',
      labelNames: ['resource'],
    }),
  }
}
