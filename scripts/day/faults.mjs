// The faults of the day by hour, and the alerts and notifications that each must cause. Hours are in the day's fast
// time.
/** Alerts may begin this long after their cause, and end this long after it is over, in hours. */
const LATE = 1.1

/**
 * Each fault: begin and end, the action at each (`rig` is made by `main.mjs`), and the required results. Those in
 * `may` can occur or not, depending on which orders were under way.
 */
export const DAY = [
  {
    name: 'the swap service answers 500',
    from: 1,
    to: 1.5,
    begin: (rig) => rig.faults([{ kind: 'errorBefore', route: 'gasless' }]),
    end: (rig) => rig.faults([]),
    alerts: ['TranchedServiceFailing', 'TranchedOrderFailed'],
    may: ['TranchedSlotWaits', 'TranchedDisbelieved', 'TranchedSlotUnattended'],
    events: ['failed', 'trouble'],
  },
  {
    name: 'the swap service limits every other request',
    from: 3,
    to: 3.5,
    begin: (rig) => rig.faults([{ kind: 'rateLimit', route: 'gasless', probability: 0.5 }]),
    end: (rig) => rig.faults([]),
    alerts: ['TranchedRateLimited'],
    may: ['TranchedOrderFailed', 'TranchedDisbelieved'],
    events: [],
  },
  {
    name: 'the price feeds stand still',
    from: 5,
    to: 6.5,
    begin: (rig) => rig.admin('PUT', '/market/paused', { paused: true }),
    end: (rig) => rig.admin('PUT', '/market/paused', { paused: false }),
    alerts: ['TranchedFeedOld', 'TranchedSlotsSkipped'],
    may: ['TranchedOrderRefused'],
    events: [],
  },
  {
    name: 'quotes name a foreign spender',
    from: 8,
    to: 8.3,
    begin: (rig) => rig.faults([{ kind: 'tamper', tampering: 'wrongSpender' }]),
    end: (rig) => rig.faults([]),
    alerts: ['TranchedOrderRefused'],
    may: [],
    events: ['refused'],
  },
  {
    name: 'a strategy is paused',
    from: 9.5,
    to: 10,
    begin: (rig) => rig.tranched('pause', 'eth-to-usdc'),
    end: (rig) => rig.tranched('resume', 'eth-to-usdc'),
    alerts: ['TranchedPaused'],
    may: [],
    events: ['halted', 'resumed'],
  },
  {
    name: 'everything is halted',
    from: 11,
    to: 11.5,
    begin: (rig) => rig.tranched('halt'),
    end: (rig) => rig.tranched('resume'),
    alerts: ['TranchedHalted'],
    may: [],
    events: ['halted', 'resumed'],
  },
  {
    name: 'a strategy file has a typo',
    from: 12.5,
    to: 13,
    begin: (rig) => rig.spoilFile(),
    end: (rig) => rig.mendFile(),
    alerts: ['TranchedReloadRefused'],
    may: [],
    events: ['files-refused'],
  },
  {
    name: 'the daemon is killed',
    from: 14,
    to: 14.4,
    begin: (rig) => rig.killDaemon(),
    end: (rig) => rig.startDaemon(),
    alerts: ['TranchedDown', 'TranchedSlotsMissed'],
    may: ['TranchedGasTankUnknown', 'TranchedBalanceUnreadable'],
    events: ['missed'],
  },
  {
    name: 'orders are accepted and never filled',
    from: 15.5,
    to: 16,
    begin: (rig) => rig.faults([{ kind: 'neverFill' }]),
    end: (rig) => rig.faults([]),
    alerts: ['TranchedOrderFailed'],
    may: ['TranchedFailureRatio', 'TranchedSlotWaits'],
    events: ['failed'],
  },
  {
    name: 'the wallet has almost no USDC',
    from: 17.2,
    to: 17.8,
    begin: (rig) => rig.setBalance('USDC', 1_000_000n),
    end: (rig) => rig.setBalance('USDC', 10_000_000_000_000n),
    alerts: ['TranchedWalletLow', 'TranchedSlotsSkipped'],
    may: ['TranchedOrderFailed'],
    events: ['low-funds'],
  },
  {
    name: 'the clock of the swap service runs half a minute ahead',
    from: 20,
    to: 20.4,
    begin: (rig) => rig.faults([{ kind: 'wrongDate', route: 'gasless', skewMs: 30_000 }]),
    end: (rig) => rig.faults([]),
    // Nothing is signed meanwhile, so that slots with a maximum lateness of ten minutes are skipped.
    alerts: ['TranchedClocksApart', 'TranchedOrderFailed'],
    may: ['TranchedDisbelieved'],
    events: ['trouble', 'failed'],
  },
  {
    name: 'another process sends a transaction of the wallet, and the daemon restarts',
    from: 22.5,
    to: 24,
    begin: async (rig) => {
      await rig.useWalletElsewhere()
      await rig.stopDaemon()
      await rig.startDaemon()
    },
    end: () => undefined,
    alerts: ['TranchedEvidenceOfLostState', 'TranchedHalted'],
    may: [],
    events: ['halted'],
  },
]

/** Alerts that a day of trading alone may cause at any time. */
export const ANY_TIME = ['TranchedCapNearlyFull', 'TranchedGasTankLow']

/** The cause of an alert that began at that hour; undefined if none was expected then. */
export function causeOf(alert, hour) {
  if (ANY_TIME.includes(alert)) return 'a day of trading'
  const cause = DAY.find(
    ({ from, to, alerts, may }) =>
      (alerts.includes(alert) || may.includes(alert)) && hour >= from - 0.02 && hour <= to + LATE,
  )
  return cause?.name
}
