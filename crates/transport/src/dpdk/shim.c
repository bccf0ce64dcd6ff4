/*
 * DPDK for `shim.rs`: its macros and inline functions as functions, and one call for a burst.
 *
 * Nothing is decided here but how a device is set up. Negative results are errors of the system.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

/* Packets that a call moves at most. */
#define BURST 64

/* A packet, and the bytes of it that Rust reaches. */
struct welter_packet {
	struct rte_mbuf *mbuf;
	uint8_t *start;
	size_t bytes;
};

/* Abilities of a device. */
struct welter_facts {
	uint16_t receive_queues;
	uint16_t send_queues;
	/* Entries of the table by which hashes become queues; 0: it spreads nothing by ports. */
	uint16_t table;
	/* Whether packets come out of the queue of the number that they were put into. */
	uint8_t keeps_queues;
	uint8_t mac[6];
};

int welter_dpdk_begin(int count, char **arguments)
{
	return rte_eal_init(count, arguments) < 0 ? -rte_errno : 0;
}

const char *welter_dpdk_reason(int error)
{
	return rte_strerror(error);
}

/* The number of the device of this name, which is made or taken if it is not there yet. */
int welter_dpdk_attach(const char *name, const char *with_options)
{
	uint16_t port;
	int failed;

	if (rte_eth_dev_get_port_by_name(name, &port) == 0)
		return port;
	failed = rte_dev_probe(with_options);
	if (failed != 0)
		return failed < 0 ? failed : -EIO;
	failed = rte_eth_dev_get_port_by_name(name, &port);
	return failed == 0 ? port : failed;
}

int welter_dpdk_facts(uint16_t port, struct welter_facts *facts)
{
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	int failed = rte_eth_dev_info_get(port, &info);

	if (failed == 0)
		failed = rte_eth_macaddr_get(port, &mac);
	if (failed != 0)
		return failed;
	memset(facts, 0, sizeof(*facts));
	facts->receive_queues = info.max_rx_queues;
	facts->send_queues = info.max_tx_queues;
	if (info.flow_type_rss_offloads & RTE_ETH_RSS_NONFRAG_IPV4_UDP)
		facts->table = info.reta_size;
	facts->keeps_queues = strcmp(info.driver_name, "net_memif") == 0;
	memcpy(facts->mac, mac.addr_bytes, sizeof(facts->mac));
	return 0;
}

/*
 * A pool of packets with rooms of so many bytes. Where addresses of a device are those of the
 * process, objects need not be contiguous in any other sense; af_xdp loses packets otherwise.
 */
struct rte_mempool *welter_dpdk_pool(const char *name, unsigned int packets, uint16_t room_bytes)
{
	struct rte_pktmbuf_pool_private private = { .mbuf_data_room_size = room_bytes };
	unsigned int flags = rte_eal_iova_mode() == RTE_IOVA_VA ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
	struct rte_mempool *pool;

	pool = rte_mempool_create_empty(name, packets, sizeof(struct rte_mbuf) + room_bytes, 0,
					sizeof(private), SOCKET_ID_ANY, flags);
	if (pool == NULL)
		return NULL;
	if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL) != 0)
		goto failed;
	rte_pktmbuf_pool_init(pool, &private);
	if (rte_mempool_populate_default(pool) < 0)
		goto failed;
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
failed:
	rte_mempool_free(pool);
	return NULL;
}

static int spread(uint16_t port, uint16_t queues, uint16_t table)
{
	struct rte_eth_rss_reta_entry64 entries[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE];
	uint16_t i;

	if (table > RTE_ETH_RSS_RETA_SIZE_512)
		return -ENOTSUP;
	memset(entries, 0, sizeof(entries));
	for (i = 0; i < table; i++) {
		entries[i / RTE_ETH_RETA_GROUP_SIZE].mask |= 1ULL << i % RTE_ETH_RETA_GROUP_SIZE;
		entries[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = i % queues;
	}
	return rte_eth_dev_rss_reta_update(port, entries, table);
}

/*
 * Sets a device up with as many queues in each direction. Payloads of Ethernet have `mtu` bytes at
 * most. `key` has 40 bytes.
 */
int welter_dpdk_set_up(uint16_t port, struct rte_mempool *pool, uint16_t queues, uint32_t mtu,
		       uint8_t *key)
{
	struct welter_facts facts;
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf;
	uint16_t receives = 1024, sends = 1024, queue;
	int failed = rte_eth_dev_info_get(port, &info);

	if (failed == 0)
		failed = welter_dpdk_facts(port, &facts);
	if (failed != 0)
		return failed;
	memset(&conf, 0, sizeof(conf));
	if (mtu > RTE_ETHER_MTU && !facts.keeps_queues) {
		if (mtu > info.max_mtu || mtu + RTE_ETHER_HDR_LEN > info.max_rx_pktlen)
			return -EMSGSIZE;
		conf.rxmode.mtu = mtu;
	}
	if (queues > 1 && facts.table != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
		if (info.hash_key_size == 40) {
			conf.rx_adv_conf.rss_conf.rss_key = key;
			conf.rx_adv_conf.rss_conf.rss_key_len = 40;
		}
	}
	failed = rte_eth_dev_configure(port, queues, queues, &conf);
	if (failed == 0)
		failed = rte_eth_dev_adjust_nb_rx_tx_desc(port, &receives, &sends);
	for (queue = 0; failed == 0 && queue < queues; queue++) {
		failed = rte_eth_rx_queue_setup(port, queue, receives, SOCKET_ID_ANY, NULL, pool);
		if (failed == 0)
			failed = rte_eth_tx_queue_setup(port, queue, sends, SOCKET_ID_ANY, NULL);
	}
	return failed;
}

/* Starts a device that is set up. Tables that a device does not let us write stay its own. */
int welter_dpdk_start(uint16_t port, uint16_t queues)
{
	struct welter_facts facts;
	int failed = rte_eth_dev_start(port);

	if (failed == 0)
		failed = welter_dpdk_facts(port, &facts);
	if (failed == 0 && queues > 1 && facts.table != 0)
		spread(port, queues, facts.table);
	return failed;
}

void welter_dpdk_halt(uint16_t port)
{
	rte_eth_dev_stop(port);
}

/*
 * Closes a device and gives it up, so that it can be attached again by its name: of one that is
 * probed already, whose port was closed, the library makes no other port.
 */
void welter_dpdk_close(uint16_t port)
{
	struct rte_eth_dev_info info;
	struct rte_device *device = rte_eth_dev_info_get(port, &info) == 0 ? info.device : NULL;

	if (rte_eth_dev_stop(port) == 0 && rte_eth_dev_close(port) == 0 && device != NULL)
		rte_dev_remove(device);
}

int welter_dpdk_is_up(uint16_t port)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/* An empty packet of one's own: all of its buffer. */
int welter_dpdk_take(struct rte_mempool *pool, struct welter_packet *packet)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	if (mbuf == NULL)
		return 0;
	packet->mbuf = mbuf;
	packet->start = mbuf->buf_addr;
	packet->bytes = mbuf->buf_len;
	return 1;
}

void welter_dpdk_give(struct rte_mbuf *mbuf)
{
	rte_pktmbuf_free(mbuf);
}

/* How many hold the packet: another one is a device that still sends it. */
uint16_t welter_dpdk_holders(const struct rte_mbuf *mbuf)
{
	return rte_mbuf_refcnt_read(mbuf);
}

/* The frame in a packet: so many bytes, from so far behind the beginning of its buffer. */
void welter_dpdk_frame(struct rte_mbuf *mbuf, uint16_t from, uint16_t bytes)
{
	mbuf->data_off = from;
	mbuf->data_len = bytes;
	mbuf->pkt_len = bytes;
}

/* Packets that came. Of one in several pieces, which no peer sends, no byte is shown. */
uint16_t welter_dpdk_receive(uint16_t port, uint16_t queue, struct welter_packet *packets,
			     uint16_t count)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t came = rte_eth_rx_burst(port, queue, mbufs, RTE_MIN(count, BURST)), i;

	for (i = 0; i < came; i++) {
		packets[i].mbuf = mbufs[i];
		packets[i].start = rte_pktmbuf_mtod(mbufs[i], uint8_t *);
		packets[i].bytes = mbufs[i]->nb_segs == 1 ? rte_pktmbuf_data_len(mbufs[i]) : 0;
	}
	return came;
}

/* Sends packets, which the device frees, and says how many: the others stay the caller's. */
uint16_t welter_dpdk_send(uint16_t port, uint16_t queue, const struct welter_packet *packets,
			  uint16_t count)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t i;

	count = RTE_MIN(count, BURST);
	for (i = 0; i < count; i++)
		mbufs[i] = packets[i].mbuf;
	return rte_eth_tx_burst(port, queue, mbufs, count);
}

/* Sends a packet that stays the caller's too. */
int welter_dpdk_send_held(uint16_t port, uint16_t queue, struct rte_mbuf *mbuf)
{
	rte_mbuf_refcnt_update(mbuf, 1);
	if (rte_eth_tx_burst(port, queue, &mbuf, 1) == 1)
		return 1;
	rte_mbuf_refcnt_update(mbuf, -1);
	return 0;
}

/* Frees what a device has sent. */
void welter_dpdk_clean(uint16_t port, uint16_t queue)
{
	rte_eth_tx_done_cleanup(port, queue, 0);
}
