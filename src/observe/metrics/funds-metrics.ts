import type { Make } from './family.ts'

export function fundsMetrics(make: Make) {
  return {
    walletBalance: make.gauge({
      name: 'tranched_wallet_balance',
      help: 'Balance at the last tick, in whole tokens.',
      labelNames: ['wallet', 'token'],
    }),
    walletNeeded: make.gauge({
      name: 'tranched_wallet_needed',
      help: 'Maximum that the next slots of all scheduled strategies need, in whole tokens; ETH includes the gas reserve.',
      labelNames: ['wallet', 'token'],
    }),
    portfolioValue: make.gauge({
      name: 'tranched_portfolio_value',
      help: 'Value of the trading wallet in each token, in the token that most feeds are quoted in; absent without a usable price.',
      labelNames: ['token'],
    }),
    valueToken: make.gauge({
      name: 'tranched_value_token_info',
      help: 'Always 1; its label names the token in which values and profits are counted.',
      labelNames: ['value_token'],
    }),
    costBasis: make.gauge({
      name: 'tranched_cost_basis',
      help: 'Average cost of the tokens that orders bought and that are still held, in the token that most feeds are quoted in.',
      labelNames: ['token'],
    }),
    profit: make.gauge({
      name: 'tranched_profit',
      help: 'Profit of the orders since the first in the journal, at average cost, before gas and charges, in the token that most feeds are quoted in; unrealised is absent while something held has no price.',
      labelNames: ['kind'],
    }),
    feedAgeMax: make.gauge({
      name: 'tranched_feed_age_max_seconds',
      help: 'Age beyond which a price of the feed is not used.',
      labelNames: ['pair'],
    }),
    gasTankAlertBelow: make.gauge({
      name: 'tranched_gastank_alert_below_ether',
      help: 'Alert level of the GasTank in the config.',
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
      help: 'Time until a resource runs out at the planned use of the schedules; absent while unknown, and if it does not run out.',
      labelNames: ['resource'],
    }),
  }
}
