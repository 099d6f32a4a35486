// The sandbox, a live daemon against it and its operator, all in fast time.
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parse, stringify } from 'yaml'

const PROGRAM = join(import.meta.dirname, '../../dist/tranched.js')
/** Timeout of waits for fast events, in real time. */
const SOON_MS = 60_000
const GAS_TANK_ALERT = '0.0485'

const strategy = (fields) => ({ missed: 'latest', ...fields })
const STRATEGIES = {
  'buy-weth': {
    kind: 'dca',
    schedule: strategy({ cron: '*/5 * * * *', maxLateness: '10m' }),
    ...{ sell: 'USDC', buy: 'WETH', amount: '25' },
  },
  'eth-to-usdc': {
    kind: 'dca',
    schedule: strategy({ cron: '*/20 * * * *', maxLateness: '10m' }),
    ...{ sell: 'ETH', buy: 'USDC', amount: '0.002' },
  },
  'dai-to-weth': {
    kind: 'dca',
    schedule: strategy({ cron: '*/15 * * * *', maxLateness: '10m' }),
    ...{ sell: 'DAI', buy: 'WETH', amount: '10' },
    limits: { perDay: '700' },
  },
  record: {
    kind: 'call',
    schedule: strategy({ cron: '*/10 * * * *', maxLateness: '5m' }),
    ...{ to: 'demo', function: 'record(bytes32)', gasLimit: 150_000 },
    args: [`0x${'74'.repeat(32)}`],
  },
}

/** Resolves once everything runs and both venues trade. `dir` is empty. */
export async function createRig({ time, dir, port, onNotification }) {
  const config = join(dir, 'live.yaml')
  const strategiesDir = join(dir, 'strategies')
  mkdirSync(strategiesDir)
  for (const [name, fields] of Object.entries(STRATEGIES))
    writeFileSync(join(strategiesDir, `${name}.yaml`), stringify({ name, ...fields }))
  const receiver = await listen(onNotification)
  const children = new Set()
  process.once('exit', () => {
    for (const child of children) child.kill('SIGTERM')
  })
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const run = (args, options) => {
    const child = time.start(process.execPath, [PROGRAM, ...args], options)
    children.add(child)
    child.once('close', () => children.delete(child))
    return child
  }
  const places = ['--state-dir', join(dir, 'state'), '--strategies-dir', strategiesDir]
  // Block times as on Base, and feeds that update less often than blocks: the chains cause most of the machine's work.
  const pace = ['--block-interval', '2s', '--feed-interval', '5s']
  const sandbox = run(['sandbox', '--json', '--config-out', config, ...places, ...pace])
  const shown = await firstJson(sandbox)
  const settings = parse(readFileSync(config, 'utf8'))
  settings.http = { host: '127.0.0.1', port }
  settings.aggregator.gasTank = { alertBelow: GAS_TANK_ALERT }
  settings.journal = { archive: join(dir, 'archive'), keepFiles: 8 }
  settings.notify = {
    webhooks: [
      {
        url: receiver.url,
        on: [
          ...['failed', 'refused', 'missed', 'halted', 'low-funds', 'resumed'],
          ...['trouble', 'recovered', 'files-refused', 'crashed'],
        ],
      },
    ],
  }
  writeFileSync(config, stringify(settings))

  let daemon
  const tranched = (...args) =>
    new Promise((resolve, reject) => {
      const all = [process.execPath, PROGRAM, ...args, '--config', config]
      execFile(time.wrapper, all, { timeout: SOON_MS }, (error, stdout, stderr) =>
        error === null ? resolve(stdout) : reject(new Error(`${args.join(' ')}: ${stderr}`)),
      )
    })
  const rig = {
    dir,
    shown,
    tranched,
    get daemon() {
      return daemon
    },
    async startDaemon() {
      daemon = run(['run', '--config', config])
      writeFileSync(join(dir, 'run.log'), '', { flag: 'a' })
      for (const stream of [daemon.stdout, daemon.stderr])
        stream.on('data', (text) => writeFileSync(join(dir, 'run.log'), text, { flag: 'a' }))
      await until(() => ask(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok))
    },
    async stopDaemon() {
      daemon.kill('SIGTERM')
      await closed(daemon)
    },
    async killDaemon() {
      // The wrapper has become the daemon: they are one process.
      daemon.kill('SIGKILL')
      await closed(daemon)
    },
    admin: (method, path, body) => send(shown.adminUrl + path, { method, body }),
    faults: (rules) => rig.admin('PUT', '/faults', { rules }),
    spoilFile: () => append(join(strategiesDir, 'buy-weth.yaml'), 'slipage: 5\n'),
    mendFile: () => rewrite(join(strategiesDir, 'buy-weth.yaml'), 'slipage: 5\n'),
    setBalance: (symbol, amount) => {
      const params = [shown.trader, shown.tokens[symbol], `0x${amount.toString(16)}`]
      return rpc(shown.rpcUrl, 'anvil_dealERC20', params)
    },
    async useWalletElsewhere() {
      await rpc(shown.rpcUrl, 'anvil_impersonateAccount', [shown.trader])
      const transaction = { from: shown.trader, to: shown.trader, value: '0x0' }
      await rpc(shown.rpcUrl, 'eth_sendTransaction', [transaction])
      await rpc(shown.rpcUrl, 'anvil_stopImpersonatingAccount', [shown.trader])
    },
    async close() {
      for (const child of children) child.kill('SIGTERM')
      await Promise.race([Promise.all([...children].map(closed)), pause(10_000)])
      for (const child of children) child.kill('SIGKILL')
      receiver.close()
    },
  }
  try {
    await tranched('gastank', 'deposit', '0.05', '--yes')
    await tranched('delegation', 'set')
    await rig.startDaemon()
  } catch (error) {
    await rig.close()
    throw error
  }
  return rig
}

function append(file, text) {
  writeFileSync(file, readFileSync(file, 'utf8') + text)
}

function rewrite(file, without) {
  writeFileSync(file, readFileSync(file, 'utf8').replace(without, ''))
}

async function listen(onNotification) {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    onNotification(JSON.parse(body))
    response.end('{}')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/hook`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function firstJson(child) {
  let text = ''
  let fault = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  child.stderr.on('data', (chunk) => {
    fault = (fault + chunk).slice(-2_000)
  })
  return until(() => JSON.parse(text)).catch(() => {
    throw new Error(`the sandbox did not start: ${fault}`)
  })
}

async function until(read) {
  const endMs = Date.now() + SOON_MS
  for (;;) {
    try {
      const found = await read()
      if (found) return found
    } catch {
      // Not ready yet.
    }
    if (Date.now() > endMs) throw new Error('it did not succeed within a minute')
    await pause(50)
  }
}

function closed(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => child.once('close', resolve))
}

async function ask(url) {
  const response = await fetch(url)
  await response.arrayBuffer()
  return response
}

async function send(url, { method, body }) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${method} ${url}: ${await response.text()}`)
  return response.json()
}

async function rpc(url, method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  const answer = await (await fetch(url, { method: 'POST', headers, body })).json()
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}

