const LOOPBACK = /^(localhost|::1|127(\.\d{1,3}){3})$/

/** Whether a host, as it stands in an address or alone, is this machine. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host.replace(/^\[|\]$/g, ''))
}
