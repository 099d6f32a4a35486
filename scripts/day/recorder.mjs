// Scrapes of a day, stored as Prometheus would have them, and the daemon's alert rules evaluated over all of it
// afterwards.
import { execFileSync, spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parse } from 'yaml'

const RULES = join(import.meta.dirname, '../../config/prometheus')
const LABELS = 'job="tranched",instance="day"'
const STEP_SECONDS = 15

/** Metrics that a rule uses. */
function namesInRules() {
  const text = ['alerts.rules.yml', 'recording.rules.yml']
    .map((file) => readFileSync(join(RULES, file), 'utf8'))
    .join('\n')
  return new Set(text.match(/\b(?:tranched|process|nodejs)_[a-z_]+/g))
}

export function createRecorder({ time, url }) {
  const wanted = namesInRules()
  const series = new Map()
  const types = new Map()
  const tookMs = []
  let scrapes = 0
  const add = (key, name, sample) => {
    const family = series.get(name) ?? new Map()
    series.set(name, family)
    const lines = family.get(key) ?? []
    family.set(key, lines)
    lines.push(sample)
  }
  return {
    tookMs,
    get scrapes() {
      return scrapes
    },
    async scrape() {
      const startedMs = performance.now()
      const at = (time.now() / 1_000).toFixed(3)
      const text = await fetch(url, { signal: AbortSignal.timeout(2_000) })
        .then((response) => response.text())
        .catch(() => undefined)
      add('up', 'up', `${text === undefined ? 0 : 1} ${at}`)
      if (text === undefined) return
      scrapes += 1
      tookMs.push(performance.now() - startedMs)
      for (const line of text.split('\n')) {
        if (line.startsWith('# TYPE ')) {
          const [, , name, type] = line.split(' ')
          types.set(name, type)
        }
        const [, name = '', labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
        if (wanted.has(name)) add(labels, name, `${value} ${at}`)
      }
    },
    /** One OpenMetrics text of all scrapes. */
    async save(file) {
      const out = createWriteStream(file)
      types.set('up', 'gauge')
      for (const [name, family] of series) {
        const type = types.get(name) ?? 'gauge'
        const called = type === 'counter' ? name.replace(/_total$/, '') : name
        out.write(`# TYPE ${called} ${type === 'histogram' ? 'unknown' : type}\n`)
        for (const [key, samples] of family) {
          const labels = key === 'up' || key === '' ? LABELS : `${key},${LABELS}`
          for (const sample of samples) out.write(`${name}{${labels}} ${sample}\n`)
        }
      }
      out.write('# EOF\n')
      await new Promise((resolve) => out.end(resolve))
    },
  }
}

/** When each alert would have fired, by the real Prometheus: `[{ alert, labels, fromMs, toMs }]`. */
export async function evaluateAlerts({ file, dir, fromMs, toMs }) {
  const data = join(dir, 'tsdb')
  mkdirSync(data)
  const options = { stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 1 << 30 }
  execFileSync('promtool', ['tsdb', 'create-blocks-from', 'openmetrics', file, data], options)
  const range = { start: Math.floor(fromMs / 1_000), end: Math.ceil(toMs / 1_000) }
  let prometheus = await startPrometheus(data, dir)
  try {
    const rules = join(RULES, 'recording.rules.yml')
    const span = ['--start', String(range.start), '--end', String(range.end)]
    // Some rules use the results of others: on the second evaluation all of them exist.
    for (let pass = 1; pass <= 2; pass += 1) {
      const to = ['--url', prometheus.url, '--output-dir', data, '--eval-interval', `${STEP_SECONDS}s`]
      execFileSync(
        'promtool',
        ['tsdb', 'create-blocks-from', 'rules', ...span, ...to, rules],
        options,
      )
      await prometheus.close()
      prometheus = await startPrometheus(data, dir)
    }
    const fired = []
    const { groups } = parse(readFileSync(join(RULES, 'alerts.rules.yml'), 'utf8'))
    for (const rule of groups.flatMap((group) => group.rules)) {
      const found = await prometheus.query(rule.expr, range)
      fired.push(...found.flatMap(({ metric, values }) => firingsOf(rule, metric, values)))
    }
    return fired.sort((a, b) => a.fromMs - b.fromMs)
  } finally {
    await prometheus.close()
  }
}

function firingsOf({ alert, for: wait = '0s' }, metric, values) {
  const waitSeconds = secondsOf(wait)
  const runs = []
  for (const [at] of values) {
    const last = runs.at(-1)
    if (last !== undefined && at - last.to <= STEP_SECONDS * 1.5) last.to = at
    else runs.push({ from: at, to: at })
  }
  const { __name__: _name, job: _job, instance: _instance, ...labels } = metric
  return runs
    .filter(({ from, to }) => to - from >= waitSeconds)
    .map(({ from, to }) => ({
      ...{ alert, labels },
      fromMs: (from + waitSeconds) * 1_000,
      toMs: to * 1_000,
    }))
}

function secondsOf(text) {
  const [, count, unit] = /^(\d+)([smh])$/.exec(text) ?? []
  return Number(count) * { s: 1, m: 60, h: 3_600 }[unit]
}

async function startPrometheus(data, dir) {
  const port = await freePort()
  const config = join(dir, 'empty.yml')
  writeFileSync(config, 'global: {}\n')
  const child = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${data}`,
      '--storage.tsdb.retention.time=10y',
      `--web.listen-address=127.0.0.1:${port}`,
      // A live Prometheus ends a series with the scrape that misses it; recorded ones come once a minute.
      '--query.lookback-delta=75s',
    ],
    { stdio: ['ignore', 'ignore', 'ignore'] },
  )
  const url = `http://127.0.0.1:${port}`
  for (let tries = 0; ; tries += 1) {
    const isReady = await fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) break
    if (tries > 300) throw new Error('Prometheus does not start')
    await pause(100)
  }
  return {
    url,
    async query(expr, { start, end }) {
      const body = new URLSearchParams({ query: expr, start, end, step: STEP_SECONDS })
      const answer = await (await fetch(`${url}/api/v1/query_range`, { method: 'POST', body })).json()
      if (answer.status !== 'success') throw new Error(`${expr}: ${answer.error}`)
      return answer.data.result
    },
    async close() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await new Promise((resolve) => child.once('close', resolve))
    },
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
