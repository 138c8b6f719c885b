/** Where Temporal is reached. */
export interface ConnectOptions {
  /** `host:port`; default 127.0.0.1:7233. */
  address?: string;
  namespace?: string;
  tls?: boolean;
  apiKey?: string;
}
