import type { Command } from 'commander'

/** Lines to type, by the command that they show; below its help. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  run: [
    'tranched run',
    'tranched run --for 60s --log-level debug',
    'tranched run --config config/live.yaml --json 2>> tranched.log',
  ],
  halt: [
    'tranched halt',
    'tranched halt --config config/live.yaml',
    'tranched halt --state-dir data',
  ],
  pause: ['tranched pause weekly-eth', 'tranched pause'],
  resume: ['tranched resume weekly-eth', 'tranched resume'],
  approve: ['tranched approve', 'tranched approve buy-the-dip'],
  trigger: ['tranched trigger weekly-eth'],
  reload: ['tranched reload --config config/live.yaml'],
  settle: [
    'tranched settle weekly-eth:1893488400:0',
    'tranched settle weekly-eth:1893488400:0 --as executed 0x4e3a3754410177e6937ef1f84bba68ea139e8d1a2258c5f85db9f1cd715a1bdd',
    'tranched settle weekly-eth:1893488400:0 --as executed unknown',
    'tranched settle weekly-eth:1893488400:0 --as dead',
  ],
  'notify test': [
    'tranched notify test --config config/live.yaml',
    'tranched notify test --config config/live.yaml --channel telegram-1',
  ],
  validate: ['tranched validate', 'tranched validate --config config/live.yaml --no-keys'],
  doctor: ['tranched doctor --config config/live.yaml'],
  ps: ['tranched ps', 'tranched ps --json'],
  status: ['tranched status', 'tranched status --state-dir data --json'],
  plan: ['tranched plan', 'tranched plan weekly-eth --slots 5 --utc'],
  quote: [
    'tranched quote weekly-eth --config config/live.yaml',
    'tranched quote --sell USDC --buy WETH --amount 25 --config config/live.yaml',
  ],
  history: ['tranched history --limit 10', 'tranched history --strategy weekly-eth --json'],
  why: [
    'tranched why weekly-eth',
    'tranched why weekly-eth:1893488400',
    'tranched why weekly-eth:1893488400 --raw',
  ],
  report: [
    'tranched report',
    'tranched report --by month --since 2026-01-01 --timezone Europe/Berlin',
    'tranched report --by strategy --csv > report.csv',
  ],
  export: [
    'tranched export > trades.csv',
    'tranched export --format koinly --since 2026-01-01 > koinly.csv',
  ],
  backtest: [
    'tranched backtest --from 2025-01-01 --to 2026-01-01 --balance USDC=1000 --prices prices --html report.html',
    'tranched backtest weekly-eth --from 2026-01-01 --balance USDC=1000 --prices journal --model from-journal',
    'tranched backtest weekly-eth --from 2025-01-01 --balance USDC=1000 --market 7 --spread 15 --latency 30s',
    "tranched backtest ladder --from 2025-01-01 --balance USDC=1000 --market 7 --expect 'drawdown<30%' --expect 'skipped<5%'",
    "tranched backtest rebalance-60-40 --from 2024-01-01 --to 2026-01-01 --balance USDC=1000 --market 7 --sweep 'band=1%..10%:1%' --sweep minTrade=5,20 --walk-forward",
  ],
  'backtest fetch': [
    'tranched backtest fetch --from 2025-01-01',
    'tranched backtest fetch WETH/USDC --from 2025-01-01 --to 2025-07-01 --prices prices --json',
  ],
  'backtest replay': ['tranched backtest replay', 'tranched backtest replay weekly-eth --json'],
  init: [
    'tranched init my-trades',
    'tranched init my-trades --kinds dca,threshold --mode dry-run --yes',
    'tranched init my-trades --kinds all --force',
  ],
  sandbox: [
    'tranched sandbox --config-out config/sandbox-live.yaml --keep',
    'tranched sandbox --settings sandbox.yaml --for 10m',
  ],
  'wallet new': [
    'tranched wallet new --out keys/trader.json',
    'tranched wallet new --out keys/trader.json --password-file keys/trader.pass',
  ],
  'wallet import': [
    'tranched wallet import --out keys/trader.json',
    'tranched wallet import --out keys/trader.json --private-key-file old.key',
  ],
  'wallet address': ['tranched wallet address --keystore keys/trader.json'],
  'gastank status': ['tranched gastank status --config config/live.yaml'],
  'gastank deposit': ['tranched gastank deposit 0.05 --yes --config config/live.yaml'],
  'delegation status': ['tranched delegation status --config config/live.yaml'],
  'delegation set': [
    'tranched delegation set --config config/live.yaml',
    'tranched delegation set --direct --config config/live.yaml',
  ],
  'delegation clear': ['tranched delegation clear --config config/live.yaml'],
  'approvals list': ['tranched approvals list --config config/live.yaml'],
  'approvals revoke': [
    'tranched approvals revoke USDC --config config/live.yaml',
    'tranched approvals revoke --all --yes --config config/live.yaml',
  ],
  'state verify': ['tranched state verify --state-dir data'],
  'state rebuild': ['tranched state rebuild --config config/live.yaml'],
  'state backup': ['tranched state backup /mnt/backup/tranched.tar --config config/live.yaml'],
  'state restore': ['tranched state restore /mnt/backup/tranched.tar --config config/live.yaml'],
  'state new': ['tranched state new --config config/live.yaml'],
  'state accept-loss': ['tranched state accept-loss --config config/live.yaml'],
  completion: [
    'tranched completion bash > ~/.local/share/bash-completion/completions/tranched',
    'tranched completion zsh > ~/.zfunc/_tranched',
    'tranched completion fish > ~/.config/fish/completions/tranched.fish',
  ],
}

/** Shows below the help of each command how it is typed. */
export function addExamples(root: Command, path: readonly string[] = []): void {
  for (const command of root.commands) {
    const words = [...path, command.name()]
    const examples = EXAMPLES[words.join(' ')]
    if (examples !== undefined)
      command.addHelpText('after', ['', 'Examples:', ...examples.map(indented)].join('\n'))
    addExamples(command, words)
  }
}

function indented(example: string): string {
  return `  ${example}`
}
