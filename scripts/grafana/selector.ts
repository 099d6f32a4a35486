/** Series of the chosen daemons, filtered by the matchers. */
export function of(metric: string, ...matchers: readonly string[]): string {
  return `${metric}{${['job="tranched"', 'instance=~"$instance"', ...matchers].join(', ')}}`
}

/** Sum of money in the daemons' value token, which becomes the label `value_token`. */
export function moneyOf(expr: string, ...by: readonly string[]): string {
  const token = of('tranched_value_token_info')
  return `sum by (${['value_token', ...by].join(', ')}) (${expr} * on (job, instance) group_left(value_token) ${token})`
}

/** Count within the time that one point stands for. */
export function increaseOf(metric: string, ...matchers: readonly string[]): string {
  return `increase(${of(metric, ...matchers)}[$__rate_interval])`
}

/** Count within the whole time range. */
export function increaseInAll(metric: string, ...matchers: readonly string[]): string {
  return `increase(${of(metric, ...matchers)}[$__range])`
}

/**
 * As `increaseOf`, for counters whose series begin with their first event, which `increase()` does not see. A series with
 * fewer samples in the range than its daemon is new and counts whole: after a gap of the scrapes, both lack the same ones.
 */
export function countOf(metric: string, ...matchers: readonly string[]): string {
  return countIn('$__rate_interval', of(metric, ...matchers))
}

/** As `increaseInAll`, for the same counters. */
export function countInAll(metric: string, ...matchers: readonly string[]): string {
  return countIn('$__range', of(metric, ...matchers))
}

function countIn(range: string, series: string): string {
  const ofDaemon = `min by (job, instance) (count_over_time(${of('process_start_time_seconds')}[${range}]))`
  const isNew = `count_over_time(${series}[${range}]) < on (job, instance) group_left () ${ofDaemon}`
  return `(${series} and (${isNew}) or increase(${series}[${range}]))`
}

/** Rate per second. */
export function rateOf(metric: string, ...matchers: readonly string[]): string {
  return `rate(${of(metric, ...matchers)}[$__rate_interval])`
}

/**
 * A quantile of a histogram, by labels, over the time that one point stands for; or over longer, where the measured
 * event may happen once a day.
 */
export function quantileOf(
  quantile: number,
  histogram: string,
  {
    by,
    where = [],
    over = '$__rate_interval',
  }: {
    readonly by: readonly string[]
    readonly where?: readonly string[]
    readonly over?: string
  },
): string {
  const rates = `rate(${of(`${histogram}_bucket`, ...where)}[${over}])`
  return `histogram_quantile(${quantile}, sum by (${['le', ...by].join(', ')}) (${rates}))`
}

/** Statuses of requests without an answer of the service itself. */
export const NO_ANSWER = '5..|5xx|timeout|network|unreachable|malformed|unusable|unavailable|other'
/** Statuses of requests rejected by a limit. */
export const LIMITED = '429|limited|rateLimited'
